"""Tests of the checks of a base image before the build: each reason for a refusal has an error code."""

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from docker import DockerClient

from app_server.core.config import DEFAULT_BASE_IMAGE, SandboxFlavour
from app_server.core.errors import StartFailure
from app_server.sandbox_images.preflight import BaseImageInspection, judge, require_suitable_base

DEBIAN = BaseImageInspection(distribution="debian", release="12", libc="glibc", packages="apt")
UBUNTU = BaseImageInspection(distribution="ubuntu", release="24.04", libc="glibc", packages="apt")

NO_SHELL = "FROM scratch\nENV none=none\n"
# The image has only one program, which needs no libc.
NO_GLIBC = f"""FROM {DEFAULT_BASE_IMAGE} AS tools
RUN apt-get update && apt-get install -y --no-install-recommends busybox-static
FROM scratch
COPY --from=tools /bin/busybox /bin/sh
USER 1000
"""
OLD = f"""FROM {DEFAULT_BASE_IMAGE}
RUN rm /etc/os-release && printf 'ID=debian\\nVERSION_ID="11"\\n' > /etc/os-release
"""
NO_APT = f"FROM {DEFAULT_BASE_IMAGE}\nRUN rm /usr/bin/apt-get\n"


@contextmanager
def base_image(engine: DockerClient, dockerfile: str) -> Iterator[str]:
    """Builds an image from the Dockerfile. Yields its name, and removes the image at the end."""
    name = f"slipway-test-base:{uuid4().hex[:12]}"
    engine.images.build(fileobj=io.BytesIO(dockerfile.encode()), tag=name, rm=True)
    try:
        yield name
    finally:
        engine.images.remove(name, force=True)


@pytest.mark.parametrize(
    ("base", "flavour", "code"),
    [
        (DEBIAN, "full", None),
        (UBUNTU, "slim", None),
        (
            BaseImageInspection(distribution="debian", release="13", libc="glibc", packages="apt"),
            "full",
            None,
        ),
        (BaseImageInspection(distribution="debian", libc="glibc", packages="apt"), "full", None),
        (BaseImageInspection(distribution="mint", release="1", libc="glibc", packages="apt"), "slim", None),
        (UBUNTU, "full", "sandbox_base_no_browser"),
        (
            BaseImageInspection(distribution="ubuntu", release="22.04", libc="glibc", packages="apt"),
            "slim",
            "sandbox_base_too_old",
        ),
        (BaseImageInspection(distribution="alpine", release="3.20.1"), "slim", "sandbox_base_no_glibc"),
        (
            BaseImageInspection(distribution="fedora", release="42", libc="glibc"),
            "slim",
            "sandbox_base_no_apt",
        ),
        (BaseImageInspection(), "slim", "sandbox_base_no_glibc"),
    ],
)
def test_what_an_image_lacks_has_a_name(
    base: BaseImageInspection, flavour: SandboxFlavour, code: str | None
) -> None:
    if code is None:
        judge("mine:1", flavour, base)
        return
    with pytest.raises(StartFailure) as failure:
        judge("mine:1", flavour, base)

    assert failure.value.code == code
    assert "mine:1" in failure.value.cause
    assert failure.value.fix


@pytest.mark.docker
@pytest.mark.parametrize(
    ("dockerfile", "code"),
    [
        (NO_SHELL, "sandbox_base_no_shell"),
        (NO_GLIBC, "sandbox_base_no_glibc"),
        (NO_APT, "sandbox_base_no_apt"),
        (OLD, "sandbox_base_too_old"),
    ],
    ids=["no shell", "no glibc", "no apt", "too old"],
)
async def test_a_real_image_that_does_not_fit_is_seen_through(
    engine: DockerClient, dockerfile: str, code: str
) -> None:
    with base_image(engine, dockerfile) as base, pytest.raises(StartFailure) as failure:
        await require_suitable_base(_docker(), base, "full")

    assert failure.value.code == code
    assert base in failure.value.cause


@pytest.mark.docker
async def test_our_own_base_fits() -> None:
    await require_suitable_base(_docker(), DEFAULT_BASE_IMAGE, "full")


def _docker() -> str:
    found = shutil.which("docker")
    assert found
    return found
