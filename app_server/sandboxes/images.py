"""The image that sandboxes start from: ours, built where it runs, named by its content.

In two steps: what it needs of others, kept for as long as the lock files stay; then our agent server on top.
"""

import asyncio
import os
import shutil
import time
from collections.abc import Awaitable, Callable

from app_server.config import DEFAULT_BASE_IMAGE, Config
from app_server.errors import StartFailure
from app_server.sandboxes.backend import Report
from app_server.sandboxes.engine_command import run_command
from app_server.sandboxes.preflight import require_fitting_base, require_room
from app_server.sandboxes.recipe import (
    AGENT_SERVER,
    DEPENDENCIES,
    SOURCE_TREE,
    Ingredients,
    Recipe,
    build_context,
    recipe_of,
)

PULL_TIMEOUT_SECONDS = 600.0
BUILD_TIMEOUT_SECONDS = 3600.0
INSTALL_CLI = "Install the Docker CLI, then retry."
# On two cores and a fast mirror; slower elsewhere.
_COSTS = {"slim": "about 2 minutes, 0.9 GB", "full": "about 3 minutes, 1.6 GB"}

HasImage = Callable[[str], Awaitable[bool]]

# One build at a time in this process: two would only slow each other down.
_building = asyncio.Lock()


async def ensure_image(config: Config, has_image: HasImage, report: Report) -> str:
    """The name of an image that is there: the one that `config` names, or our own, built if missing.

    Raises StartFailure `sandbox_image_missing`, `sandbox_image_build_failed`, or what preflight.py raises.
    """
    if wanted := config.sandbox_image:
        if not await has_image(wanted):
            raise StartFailure(
                "sandbox_image_missing",
                f"The sandbox image {wanted} is not on this machine.",
                fix=f"Run `docker pull {wanted}`, or unset SLIPWAY_SANDBOX_IMAGE to have one built.",
            )
        return wanted
    recipe = await asyncio.to_thread(recipe_of, config.sandbox_flavour, config.sandbox_base_image)
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
        raise _build_failed("The docker command is not installed.", fix=INSTALL_CLI)
    began = time.monotonic()
    if not await has_image(recipe.dependencies):
        await require_room(docker, recipe.flavour)
        if not await has_image(recipe.base):
            await _get_base(docker, recipe.base, report)
        await require_fitting_base(docker, recipe.base, recipe.flavour)
        report(
            f"Building what the {recipe.flavour} sandbox image needs (once per version of that; "
            f"{_COSTS[recipe.flavour]}): {recipe.dependencies}"
        )
        options = ["--target", recipe.flavour, "--build-arg", f"BASE_IMAGE={recipe.base}"]
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
    status, output = await run_command(
        command, report, BUILD_TIMEOUT_SECONDS, stdin=context, environment=environment
    )
    if status != 0:
        raise _build_failed(
            "Building the sandbox image failed.",
            fix="Read the output; retry the start when its cause is gone.",
            output=output,
        )


async def _get_base(docker: str, base: str, report: Report) -> None:
    report(f"Pulling the base image {base}")
    status, output = await run_command([docker, "pull", base], report, PULL_TIMEOUT_SECONDS)
    if status == 0:
        return
    fix = "Give this machine access to the image's registry, or load the image: docker load"
    if base == DEFAULT_BASE_IMAGE:
        fix = (
            "Give this machine access to an image registry, or make the image without one: install "
            f"debootstrap and run `containers/base/build.sh {base}` as root."
        )
        if os.geteuid() == 0 and shutil.which("debootstrap"):
            report(f"No registry answers: making {base} with debootstrap")
            status, output = await run_command(
                [str(SOURCE_TREE / "containers/base/build.sh"), base],
                report,
                PULL_TIMEOUT_SECONDS,
                environment={"DOCKER": docker},
            )
    if status != 0:
        raise _build_failed(
            f"The base image {base} is not on this machine and could not be pulled.", fix=fix, output=output
        )


async def _has_buildx(docker: str) -> bool:
    # Newer CLIs build with BuildKit only through this plugin; without it they refuse to.
    status, _ = await run_command([docker, "buildx", "version"], lambda _line: None, 30)
    return status == 0


def _build_failed(cause: str, *, fix: str, output: str = "") -> StartFailure:
    return StartFailure("sandbox_image_build_failed", cause, fix=fix, output=output)
