"""Runs the command `docker build` and passes its output on line by line."""

import shutil
from typing import IO

from app_server.core.errors import StartFailure
from app_server.core.start_report import Report
from app_server.docker_engine.commands import run_command
from app_server.sandbox_images.base_image import BUILD_TIMEOUT_SECONDS

INSTALL_CLI = "Install the Docker CLI, then retry."


def docker_command() -> str:
    """Returns the path of the `docker` program. Raises StartFailure `sandbox_image_build_failed` if it is not
    installed.
    """
    docker = shutil.which("docker")
    if docker is None:
        raise StartFailure(
            "sandbox_image_build_failed", "The docker command is not installed.", fix=INSTALL_CLI
        )
    return docker


async def docker_build(
    docker: str,
    tag: str,
    dockerfile: str,
    options: list[str],
    context: bytes | IO[bytes],
    report: Report,
    timeout_seconds: float = BUILD_TIMEOUT_SECONDS,
) -> tuple[int, str]:
    """Builds an image with `docker build`. Returns the exit status of the command and the last lines of its
    output.

    `docker`: the path of the docker program. `tag`: the name of the new image. `dockerfile`: the path of the
    Dockerfile in the tar `context`. `options`: additional command-line options. `context`: the tar with the
    files that the Dockerfile can copy. `report`: receives each line of the output.
    """
    is_classic = not await has_buildx(docker)
    environment = {"DOCKER_BUILDKIT": "0" if is_classic else "1", "BUILDKIT_PROGRESS": "plain"}
    # Without this, the classic builder keeps the container of a failed step. BuildKit leaves none.
    tidy = ["--force-rm"] if is_classic else []
    command = [docker, "build", "--tag", tag, f"--file={dockerfile}", *tidy, *options, "-"]
    return await run_command(command, report, timeout_seconds, stdin=context, environment=environment)


async def has_buildx(docker: str) -> bool:
    """Returns whether the docker program has its buildx plugin. Without the plugin, images are built with the
    older ("classic") builder.
    """
    status, _ = await run_command([docker, "buildx", "version"], lambda _line: None, 30)
    return status == 0
