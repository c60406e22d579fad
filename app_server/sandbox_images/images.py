"""Builds the container image from which sandboxes are started, on the machine where the sandboxes run. The
name of the image contains a hash of its build files.

The build has two steps. The first image contains the dependencies and is reused until the lock files or other
build files change. The second image is built on the first one and adds the agent server.
"""

import asyncio
import gzip
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import IO

from app_server.core.config import DEFAULT_BASE_IMAGE, Config
from app_server.core.errors import StartFailure
from app_server.core.start_report import Report
from app_server.docker_engine.commands import run_command
from app_server.docker_engine.labels import owner_of_helpers
from app_server.sandbox_images.base_image import BaseImage
from app_server.sandbox_images.custom_base import build_base
from app_server.sandbox_images.definition import (
    AGENT_SERVER,
    DEPENDENCIES,
    SOURCE_TREE,
    BuildInputs,
    ImageDefinition,
    build_context,
    image_definition,
    is_made_here,
)
from app_server.sandbox_images.docker_build import docker_build, docker_command
from app_server.sandbox_images.preflight import (
    require_disk_space,
    require_size,
    require_suitable_base,
)
from app_server.sandbox_images.running_builds import Builds

PULL_TIMEOUT_SECONDS = 600.0
# Measured with two cores and a fast mirror; slower elsewhere.
_COSTS = {"slim": "about 2 minutes, 0.9 GB", "full": "about 4 minutes, 1.8 GB"}

HasImage = Callable[[str], Awaitable[bool]]

_builds = Builds()


async def ensure_image(
    config: Config,
    has_image: HasImage,
    report: Report,
    base: BaseImage | None = None,
    builds: Builds | None = None,
) -> str:
    """Makes sure that the image which sandboxes start from is on this machine, and returns its name. Usually
    this is Slipway's own image, which is built if it is missing. If `config` names another image, that image
    must be present.

    `has_image`: returns whether the machine has an image of this name. `report`: receives the progress lines.
    `base`: the base image that a user has chosen. If it is given, Slipway's own image is built on it, even if
    `config` names another image. If it is None, `config` names the base image or the image. `builds`: the
    running builds; if one of them builds the same image, this call waits for it. None means the running
    builds of this process.

    Raises StartFailure `sandbox_image_missing` if the image that `config` names is missing. Raises
    StartFailure `sandbox_base_missing` if the base image is missing and cannot be pulled. Raises StartFailure
    `sandbox_image_build_failed` if the build fails. Also raises the errors that the functions of
    custom_base.py and preflight.py raise.
    """
    if base is None and (wanted := config.sandbox_image):
        if not await has_image(wanted):
            raise StartFailure(
                "sandbox_image_missing",
                f"The sandbox image {wanted} is not on this machine.",
                fix=f"Run `docker pull {wanted}`, or unset SLIPWAY_SANDBOX_IMAGE to have one built.",
            )
        return wanted
    name = base.name if base else config.sandbox_base_image
    definition = await asyncio.to_thread(image_definition, config.sandbox_flavour, name)
    if await has_image(definition.image):
        return definition.image

    async def build(say: Report) -> None:
        if not await has_image(definition.image):
            await _build(definition, base, has_image, say, owner_of_helpers(config))

    await (builds or _builds).run(definition.image, build, report, is_own=base is not None)
    return definition.image


async def _build(
    definition: ImageDefinition, own: BaseImage | None, has_image: HasImage, report: Report, owner: str
) -> None:
    docker = docker_command()
    began = time.monotonic()
    if not await has_image(definition.dependencies):
        await require_disk_space(docker, definition.flavour)
        if not await has_image(definition.base):
            await (
                _get_custom_base(docker, own, definition, report)
                if own
                else _get_base(docker, definition.base, report)
            )
        await require_suitable_base(docker, definition.base, definition.flavour, owner)
        report(
            f"Building what the {definition.flavour} sandbox image needs (once per version of that; "
            f"{_COSTS[definition.flavour]}): {definition.dependencies}"
        )
        options = ["--target", definition.flavour, "--build-arg", f"BASE_IMAGE={definition.base}"]
        await _build_layer(docker, definition.dependencies, DEPENDENCIES, options, report)
    report(f"Building the sandbox image {definition.image} (once per version, seconds)")
    options = ["--build-arg", f"DEPENDENCIES={definition.dependencies}"]
    await _build_layer(docker, definition.image, AGENT_SERVER, options, report)
    report(f"The sandbox image was built in {time.monotonic() - began:.0f} s")


async def _get_custom_base(docker: str, own: BaseImage, definition: ImageDefinition, report: Report) -> None:
    found = await own.files()
    if found is None:
        await _get_base(docker, own.name, report, own.limits.timeout_seconds)
        await require_size(docker, own.name, own.limits.max_bytes)
        return
    files, packed = found
    report(f"Building the base image {own.name} ({files.files} files, {files.bytes / 1e6:.1f} MB)")
    with tempfile.TemporaryFile() as tar:
        await asyncio.to_thread(_unpack, packed, tar)
        await build_base(docker, files, tar, definition.flavour, own.limits, report)


def _unpack(packed: bytes, tar: IO[bytes]) -> None:
    tar.write(gzip.decompress(packed))
    tar.seek(0)


async def _build_layer(
    docker: str, tag: str, ingredients: BuildInputs, options: list[str], report: Report
) -> None:
    context = await asyncio.to_thread(build_context, ingredients)
    status, output = await docker_build(docker, tag, ingredients.dockerfile, options, context, report)
    if status != 0:
        raise StartFailure(
            "sandbox_image_build_failed",
            "Building the sandbox image failed.",
            fix="Read the output; fix the cause, then retry the start.",
            output=output,
        )


async def _get_base(
    docker: str, base: str, report: Report, timeout_seconds: float = PULL_TIMEOUT_SECONDS
) -> None:
    if is_made_here(base):
        raise base_is_gone(base)
    report(f"Pulling the base image {base}")
    status, output = await run_command([docker, "pull", base], report, timeout_seconds)
    if status == 0:
        return
    if can_be_made(base):
        report(f"No registry answers: making {base} with debootstrap")
        status, output = await run_command(
            [str(SOURCE_TREE / "containers/base/build.sh"), base],
            report,
            PULL_TIMEOUT_SECONDS,
            environment={"DOCKER": docker},
        )
    if status != 0:
        raise StartFailure(
            "sandbox_base_missing",
            f"The base image {base} is not on this machine and could not be pulled.",
            fix=fix_without(base),
            output=output,
        )


def base_is_gone(base: str) -> StartFailure:
    """Returns the error for a base image that Slipway has built from a user's files and that is now missing
    on this machine. Such an image cannot be pulled, because it is in no registry.
    """
    return StartFailure(
        "sandbox_base_missing",
        f"The base image {base}, which is built here from files of yours, is not on this machine.",
        fix="Build it from the same files: slipway images build --dockerfile PATH, or --devcontainer PATH.",
    )


def can_be_made(base: str) -> bool:
    """Returns whether this machine can create this base image with the program debootstrap, without a
    registry. This is possible only for the default base image, and needs root rights and debootstrap. A base
    image is the image on which a sandbox image is built.
    """
    return base == DEFAULT_BASE_IMAGE and os.geteuid() == 0 and shutil.which("debootstrap") is not None


def fix_without(base: str) -> str:
    """Returns a text that tells the user what to do if the base image (on which a sandbox image is built)
    cannot be pulled from a registry.
    """
    if base != DEFAULT_BASE_IMAGE:
        return "Give this machine access to the image's registry, or load the image: docker load"
    return (
        "Give this machine access to an image registry, or make the image without one: install "
        f"debootstrap and run `containers/base/build.sh {base}` as root."
    )
