"""What would make a build of the sandbox image fail after minutes, found in a second and named."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from app_server.config import SandboxFlavour
from app_server.errors import StartFailure
from app_server.sandboxes.engine_command import run_command

ASK_TIMEOUT_SECONDS = 60.0
GIBIBYTE = 1024**3
# The image, and beside it what the build needs for a while.
NEEDED_BYTES: dict[SandboxFlavour, int] = {"slim": 2 * GIBIBYTE, "full": 3 * GIBIBYTE}
# The first ones with Python 3.11.
_FIRST_RELEASES = {"debian": (12,), "ubuntu": (24, 4)}
_NO_SUCH_PROGRAM = {126, 127}
# Only what every shell has by itself: nothing else may be there. Each line is NAME=VALUE.
_LOOK = """
[ -r /etc/os-release ] && . /etc/os-release
echo "distribution=$ID"
echo "release=$VERSION_ID"
for loader in /lib/ld-linux* /lib64/ld-linux*; do [ -e "$loader" ] && echo libc=glibc; done
command -v apt-get > /dev/null && echo packages=apt
exit 0
"""


@dataclass(frozen=True)
class Base:
    """What a look inside a base image found; empty where nothing was."""

    distribution: str = ""
    release: str = ""
    libc: str = ""
    packages: str = ""


async def require_room(docker: str, flavour: SandboxFlavour) -> None:
    """Raises StartFailure `sandbox_image_no_room` when this machine's engine has too little for the build."""
    if not os.environ.get("DOCKER_HOST", "unix://").startswith("unix://"):
        return  # its disk is elsewhere
    root = Path(await _ask(docker, "info", "--format", "{{.DockerRootDir}}"))
    if not os.access(root, os.R_OK):
        return
    free, needed = shutil.disk_usage(root).free, NEEDED_BYTES[flavour]
    if free < needed:
        raise StartFailure(
            "sandbox_image_no_room",
            f"{free / GIBIBYTE:.1f} GiB are free at {root}; building the {flavour} sandbox image takes "
            f"{needed / GIBIBYTE:.0f} GiB.",
            fix="Free some room there; `slipway images prune` and `docker builder prune` may help.",
        )


async def is_present(docker: str, image: str) -> bool:
    command = [docker, "image", "inspect", "--format", "there", image]
    status, _ = await run_command(command, lambda _line: None, ASK_TIMEOUT_SECONDS)
    return status == 0


async def require_fitting_base(docker: str, base: str, flavour: SandboxFlavour) -> None:
    """Raises StartFailure `sandbox_base_…`, which names the first thing that the image lacks."""
    await _require_architecture(docker, base)
    status, output = await run_command(
        [docker, "run", "--rm", "--network=none", "--user=0", "--entrypoint=/bin/sh", base, "-c", _LOOK],
        lambda _line: None,
        ASK_TIMEOUT_SECONDS,
    )
    if status in _NO_SUCH_PROGRAM:
        raise _unfit("sandbox_base_no_shell", f"{base} has no shell, so nothing can be installed into it.")
    if status != 0:
        raise _not_answered(f"A container of {base} could not be run.", output)
    judge(base, flavour, _parse(output))


def judge(name: str, flavour: SandboxFlavour, base: Base) -> None:
    """Raises as above."""
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


async def _ask(docker: str, *arguments: str) -> str:
    command = [docker, *arguments]
    status, output = await run_command(command, lambda _line: None, ASK_TIMEOUT_SECONDS)
    if status != 0:
        raise _not_answered(f"`docker {arguments[0]}` failed.", output)
    # Above it the command may have put warnings.
    return output.rpartition("\n")[2]


def _parse(output: str) -> Base:
    known = Base.__dataclass_fields__
    pairs = (line.partition("=") for line in output.splitlines())
    return Base(**{name: value.strip() for name, _, value in pairs if name in known})


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _unfit(code: str, cause: str) -> StartFailure:
    return StartFailure(
        code,
        cause,
        fix="Name one of Debian 12 or newer, or Ubuntu 24.04 or newer, in SLIPWAY_SANDBOX_BASE_IMAGE.",
    )


def _not_answered(cause: str, output: str) -> StartFailure:
    return StartFailure(
        "sandbox_image_build_failed",
        cause,
        fix="Read the output; see that `docker run` works for this user.",
        output=output,
    )
