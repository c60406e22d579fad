"""The image that sandboxes start from: ours, built where it runs, named by its content.

In two steps: what it needs of others, kept for as long as the lock files stay; then our agent server on top.
"""

import asyncio
import os
import shutil
import signal
import tempfile
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import IO

from app_server.config import Config
from app_server.errors import StartFailure
from app_server.sandboxes.backend import Report
from app_server.sandboxes.recipe import (
    AGENT_SERVER,
    BASE_IMAGE,
    DEPENDENCIES,
    SOURCE_TREE,
    Ingredients,
    Recipe,
    build_context,
    recipe_of,
)

PULL_TIMEOUT_SECONDS = 600.0
BUILD_TIMEOUT_SECONDS = 3600.0
KEPT_LINES = 60
MAX_LINE_BYTES = 1024**2
# On two cores and a fast mirror; slower elsewhere.
_COSTS = {"slim": "about 2 minutes, 0.9 GB", "full": "about 3 minutes, 1.6 GB"}

HasImage = Callable[[str], Awaitable[bool]]

# One build at a time in this process: two would only slow each other down.
_building = asyncio.Lock()


async def ensure_image(config: Config, has_image: HasImage, report: Report) -> str:
    """The name of an image that is there: the one that `config` names, or our own, built if missing.

    Raises StartFailure `sandbox_image_missing` or `sandbox_image_build_failed`.
    """
    if wanted := config.sandbox_image:
        if not await has_image(wanted):
            raise StartFailure(
                "sandbox_image_missing",
                f"The sandbox image {wanted} is not on this machine.",
                fix=f"Run `docker pull {wanted}`, or unset SLIPWAY_SANDBOX_IMAGE to have one built.",
            )
        return wanted
    recipe = await asyncio.to_thread(recipe_of, config.sandbox_flavour)
    if await has_image(recipe.image):
        return recipe.image
    if _building.locked():
        report("Waiting for the image build that runs already")
    async with _building:
        if not await has_image(recipe.image):
            await _build(recipe, has_image, report)
    return recipe.image


async def _build(recipe: Recipe, has_image: HasImage, report: Report) -> None:
    docker = shutil.which("docker")
    if docker is None:
        raise _build_failed("The docker command is not installed.", fix="Install the Docker CLI, then retry.")
    began = time.monotonic()
    if not await has_image(recipe.dependencies):
        if not await has_image(BASE_IMAGE):
            await _get_base(docker, report)
        report(
            f"Building what the {recipe.flavour} sandbox image needs (once per version of that; "
            f"{_COSTS[recipe.flavour]}): {recipe.dependencies}"
        )
        options = ["--target", recipe.flavour, "--build-arg", f"BASE_IMAGE={BASE_IMAGE}"]
        await _docker_build(docker, recipe.dependencies, DEPENDENCIES, options, report)
    report(f"Building the sandbox image {recipe.image} (once per version, seconds)")
    options = ["--build-arg", f"DEPENDENCIES={recipe.dependencies}"]
    await _docker_build(docker, recipe.image, AGENT_SERVER, options, report)
    report(f"The sandbox image was built in {time.monotonic() - began:.0f} s")


async def _docker_build(
    docker: str, tag: str, ingredients: Ingredients, options: list[str], report: Report
) -> None:
    environment = {"DOCKER_BUILDKIT": "1" if await _has_buildx(docker) else "0", "BUILDKIT_PROGRESS": "plain"}
    command = [docker, "build", "--tag", tag, "--file", ingredients.dockerfile, *options, "-"]
    context = await asyncio.to_thread(build_context, ingredients)
    status, output = await _run(
        command, report, BUILD_TIMEOUT_SECONDS, stdin=context, environment=environment
    )
    if status != 0:
        raise _build_failed(
            "Building the sandbox image failed.",
            fix="Read the output; retry the start when its cause is gone.",
            output=output,
        )


async def _get_base(docker: str, report: Report) -> None:
    report(f"Pulling the base image {BASE_IMAGE}")
    status, output = await _run([docker, "pull", BASE_IMAGE], report, PULL_TIMEOUT_SECONDS)
    if status == 0:
        return
    script = SOURCE_TREE / "containers/base/build.sh"
    if os.geteuid() == 0 and shutil.which("debootstrap") and script.exists():
        report(f"No registry answers: making {BASE_IMAGE} with debootstrap")
        environment = {"DOCKER": docker}
        status, output = await _run(
            [str(script), BASE_IMAGE], report, PULL_TIMEOUT_SECONDS, environment=environment
        )
    if status != 0:
        raise _build_failed(
            f"The base image {BASE_IMAGE} is not on this machine and could not be pulled.",
            fix=f"Give this machine access to an image registry, or make the image without one: install "
            f"debootstrap and run `containers/base/build.sh {BASE_IMAGE}` as root.",
            output=output,
        )


async def _has_buildx(docker: str) -> bool:
    # Newer CLIs build with BuildKit only through this plugin; without it they refuse to.
    status, _ = await _run([docker, "buildx", "version"], lambda _line: None, 30)
    return status == 0


async def _run(
    command: list[str],
    report: Report,
    timeout_seconds: float,
    *,
    stdin: bytes = b"",
    environment: dict[str, str] | None = None,
) -> tuple[int, str]:
    """`(exit status, last lines)` of a command; its lines go to `report` as they come. 124: timed out."""
    lines: deque[str] = deque(maxlen=KEPT_LINES)
    # From a file, not through a pipe: a program that ends without reading it is no error of ours.
    with await asyncio.to_thread(_file_with, stdin) as source:
        process = await asyncio.create_subprocess_exec(
            *command,
            env={**os.environ, **(environment or {})},
            stdin=source,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
            limit=MAX_LINE_BYTES,
        )
    try:
        async with asyncio.timeout(timeout_seconds):
            assert process.stdout
            async for raw in process.stdout:
                if line := raw.decode(errors="replace").rstrip():
                    lines.append(line)
                    report(line)
            return await process.wait(), "\n".join(lines)
    except TimeoutError:
        lines.append(f"(ended after {timeout_seconds:g} seconds)")
        return 124, "\n".join(lines)
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def _file_with(content: bytes) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115 (the caller closes it)
    file.write(content)
    file.seek(0)
    return file


def _build_failed(cause: str, *, fix: str, output: str = "") -> StartFailure:
    return StartFailure("sandbox_image_build_failed", cause, fix=fix, output=output)
