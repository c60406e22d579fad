"""Checks the machine and the base image before a sandbox image is built. The checks find problems that would
otherwise make the build fail after minutes.
"""

import asyncio
import os
import shutil
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from app_server.core.background import finish
from app_server.core.config import SandboxFlavour
from app_server.core.errors import StartCode, StartFailure
from app_server.docker_engine.commands import run_command

ASK_TIMEOUT_SECONDS = 60.0
GIBIBYTE = 1024**3
# The space for the image and for temporary data of the build.
NEEDED_BYTES: dict[SandboxFlavour, int] = {"slim": 2 * GIBIBYTE, "full": 3 * GIBIBYTE}
# The first releases with Python 3.11.
_FIRST_RELEASES = {"debian": (12,), "ubuntu": (24, 4)}
_NO_SUCH_PROGRAM = {126, 127}
_TIMED_OUT = 124
LOOK_LABEL = "slipway.look"
DISK_CHECK_SECONDS = 2.0
MIN_FREE_BYTES = GIBIBYTE
# Uses only shell built-ins, because the image may contain no programs. Each output line is NAME=VALUE.
_LOOK = """
[ -r /etc/os-release ] && . /etc/os-release
echo "distribution=$ID"
echo "release=$VERSION_ID"
for loader in /lib/ld-linux* /lib64/ld-linux*; do [ -e "$loader" ] && echo libc=glibc; done
command -v apt-get > /dev/null && echo packages=apt
exit 0
"""


T = TypeVar("T")


@dataclass(frozen=True)
class BaseImageInspection:
    """The facts about a base image that were found by running commands in it.

    `distribution`, `release`: the name and the version of the Linux distribution, such as `debian` and `12`;
    empty if they are not known. `libc`: `glibc`, or empty if the image has no glibc. `packages`: `apt`, or
    empty if the image has no apt-get.
    """

    distribution: str = ""
    release: str = ""
    libc: str = ""
    packages: str = ""


async def require_disk_space(docker: str, flavour: SandboxFlavour) -> None:
    """Checks that the disk of the container engine has enough free space to build an image of this flavour.
    Raises StartFailure `sandbox_image_no_room` if there is too little space. Does nothing if the free space
    cannot be read from this machine. `flavour`: "full" needs more space than "slim", because it has a browser
    and fonts.
    """
    root = await _engine_root(docker)
    if root is None:
        return
    free, needed = shutil.disk_usage(root).free, NEEDED_BYTES[flavour]
    if free < needed:
        raise _disk_full(
            f"{free / GIBIBYTE:.1f} GiB are free at {root}; building the {flavour} sandbox image takes "
            f"{needed / GIBIBYTE:.0f} GiB."
        )


async def while_disk_has_space(docker: str, build: Coroutine[Any, Any, T]) -> T:
    """Runs `build` and returns its result. Checks the free disk space of the container engine every few
    seconds. If the disk is almost full, stops the build and raises StartFailure `sandbox_image_no_room`.
    """
    root = await _engine_root(docker)
    task = asyncio.create_task(build, name="docker build")
    try:
        while not (await asyncio.wait({task}, timeout=DISK_CHECK_SECONDS))[0]:
            if root and shutil.disk_usage(root).free < MIN_FREE_BYTES:
                raise _disk_full(f"Slipway ended the build, because it had almost filled the disk at {root}.")
        return task.result()
    finally:
        task.cancel()
        await asyncio.wait({task})


async def require_size(docker: str, image: str, max_bytes: int | None) -> None:
    """Checks that the size of the image is at most `max_bytes`; None means no limit. Removes a larger image
    and raises StartFailure `sandbox_base_too_large`.
    """
    size = int(await _ask(docker, "image", "inspect", "--format", "{{.Size}}", image))
    if max_bytes is None or size <= max_bytes:
        return
    await run_command([docker, "image", "rm", image], lambda _line: None, ASK_TIMEOUT_SECONDS)
    raise StartFailure(
        "sandbox_base_too_large",
        f"The base image takes {size / GIBIBYTE:.1f} GiB; {max_bytes / GIBIBYTE:.1f} GiB are allowed.",
        fix="Leave out what agents do not need, or have SLIPWAY_SANDBOX_BUILD_MAX_BYTES raised.",
    )


async def is_present(docker: str, image: str) -> bool:
    command = [docker, "image", "inspect", "--format", "there", image]
    status, _ = await run_command(command, lambda _line: None, ASK_TIMEOUT_SECONDS)
    return status == 0


async def require_suitable_base(docker: str, base: str, flavour: SandboxFlavour, owner: str = "") -> None:
    """Checks that a sandbox image of this flavour can be built on this base image. For this, runs a container
    of the base image for a short time. Raises StartFailure `sandbox_base_…` for the first requirement that is
    not met.

    `flavour`: "full" is the variant with a browser and fonts, "slim" the variant without them. `owner`: a
    text that identifies this app server (see `owner_of_helpers`). The container gets it as a Docker label. If
    the app server is killed during the check, it finds the container by this label at its next start and
    removes it.
    """
    await _require_architecture(docker, base)
    # The image is not trusted, so the container gets no rights, and it is removed after a timeout.
    name = f"slipway-look-{uuid4().hex}"
    options = [
        f"--name={name}",
        f"--label={LOOK_LABEL}={owner}",
        "--network=none",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges",
    ]
    options += ["--read-only", "--pids-limit=64", "--memory=256m", "--user=0", "--entrypoint=/bin/sh"]
    status = _TIMED_OUT
    try:
        status, output = await run_command(
            [docker, "run", "--rm", *options, base, "-c", _LOOK], lambda _line: None, ASK_TIMEOUT_SECONDS
        )
    finally:
        if status == _TIMED_OUT:
            remove = [docker, "rm", "--force", name]
            await finish(run_command(remove, lambda _line: None, ASK_TIMEOUT_SECONDS))
    if status in _NO_SUCH_PROGRAM:
        raise _unfit("sandbox_base_no_shell", f"{base} has no shell, so nothing can be installed into it.")
    if status != 0:
        raise _not_answered(f"A container of {base} could not be run.", output)
    judge(base, flavour, _parse(output))


def judge(name: str, flavour: SandboxFlavour, base: BaseImageInspection) -> None:
    """Checks that the base image has everything that a sandbox image of this flavour needs. Raises
    StartFailure `sandbox_base_…` if something is missing.

    `name`: the name of the base image, for the error message. `flavour`: "full" is the variant with a browser
    and fonts, "slim" the variant without them. `base`: what an inspection of the image has found.
    """
    if not base.libc:
        raise _unfit(
            "sandbox_base_no_glibc",
            f"{name} is not built on glibc (perhaps on musl, as Alpine is), which the agent server needs.",
        )
    if not base.packages:
        raise _unfit("sandbox_base_no_apt", f"{name} has no apt-get, with which we install what agents need.")
    first = _FIRST_RELEASES.get(base.distribution)
    if first and base.release and _version(base.release) < first:
        raise _unfit(
            "sandbox_base_too_old",
            f"{name} is {base.distribution} {base.release}, whose Python is older than 3.11.",
        )
    if flavour == "full" and base.distribution == "ubuntu":
        raise StartFailure(
            "sandbox_base_no_browser",
            f"{name} is Ubuntu, which has Chromium only as a snap: that does not work in a container.",
            fix="Take a base of Debian 12 or newer, or do without the browser: SLIPWAY_SANDBOX_FLAVOUR=slim.",
        )


async def _require_architecture(docker: str, base: str) -> None:
    image = await _ask(docker, "image", "inspect", "--format", "{{.Os}}/{{.Architecture}}", base)
    engine = await _ask(docker, "version", "--format", "{{.Server.Os}}/{{.Server.Arch}}")
    if image != engine:
        raise StartFailure(
            "sandbox_base_wrong_architecture",
            f"{base} is made for {image}, but the Docker engine runs {engine}.",
            fix=f"Fetch it for this machine: docker pull --platform {engine} {base}",
        )


async def _engine_root(docker: str) -> Path | None:
    """Returns the data directory of the Docker engine. Returns None if the directory is on another machine or
    cannot be read.
    """
    if not os.environ.get("DOCKER_HOST", "unix://").startswith("unix://"):
        return None  # the engine's disk is on another machine
    root = Path(await _ask(docker, "info", "--format", "{{.DockerRootDir}}"))
    return root if os.access(root, os.R_OK) else None


def _disk_full(cause: str) -> StartFailure:
    return StartFailure(
        "sandbox_image_no_room",
        cause,
        fix="Free some room there; `slipway images prune` and `docker builder prune` may help.",
    )


async def _ask(docker: str, *arguments: str) -> str:
    command = [docker, *arguments]
    status, output = await run_command(command, lambda _line: None, ASK_TIMEOUT_SECONDS)
    if status != 0:
        raise _not_answered(f"`docker {arguments[0]}` failed.", output)
    # The command may have printed warnings above the last line.
    return output.rpartition("\n")[2]


def _parse(output: str) -> BaseImageInspection:
    known = BaseImageInspection.__dataclass_fields__
    pairs = (line.partition("=") for line in output.splitlines())
    return BaseImageInspection(**{name: value.strip() for name, _, value in pairs if name in known})


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _unfit(code: StartCode, cause: str) -> StartFailure:
    return StartFailure(
        code,
        cause,
        fix="Take one made from Debian 12 or newer, or Ubuntu 24.04 or newer: in SLIPWAY_SANDBOX_BASE_IMAGE, "
        "or in the FROM of the Dockerfile that it is built from.",
    )


def _not_answered(cause: str, output: str) -> StartFailure:
    return StartFailure(
        "sandbox_image_build_failed",
        cause,
        fix="Read the output; see that `docker run` works for this user.",
        output=output,
    )
