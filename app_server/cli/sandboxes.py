"""The commands `slipway images …` and `slipway sandboxes …`, which manage the sandbox images and the
sandboxes.
"""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from app_server.cli.home import Home, Json, configuration, leave, require_database
from app_server.core.config import Config, SandboxFlavour
from app_server.core.errors import AppError, StartFailure

if TYPE_CHECKING:
    from app_server.cli.image_locations import ImageLocation
    from app_server.doctor.findings import Finding
    from app_server.sandbox_images.custom_base import BaseSource

images = typer.Typer(help="The images that Docker sandboxes start from.", no_args_is_help=True)
sandboxes = typer.Typer(help="The sandboxes of this home.", no_args_is_help=True)

Flavour = Annotated[
    SandboxFlavour | None,
    typer.Option(help="full: with a browser and fonts; slim: without. [env: SLIPWAY_SANDBOX_FLAVOUR]"),
]
SandboxId = Annotated[str, typer.Argument(help="The sandbox's id, or its first characters.")]

Dockerfile = Annotated[
    Path | None, typer.Option(help="Build on a base image of your own, made from this Dockerfile first.")
]
Devcontainer = Annotated[
    Path | None,
    typer.Option(help="The same, from a devcontainer.json (or its project): its `image` or its `build`."),
]
Context = Annotated[
    Path | None,
    typer.Option(help="The folder from which its Dockerfile copies. Default: the folder of the Dockerfile."),
]

Result = TypeVar("Result")


@images.command("build")
def build_image(
    flavour: Flavour = None,
    dockerfile: Dockerfile = None,
    devcontainer: Devcontainer = None,
    context: Context = None,
) -> None:
    """Build the sandbox image of this version of Slipway, if it does not exist. To build it on another base
    image, name a Dockerfile or a devcontainer.json in the options.
    """
    # Imported here, as below, so that the other commands and --help answer at once.
    from app_server.sandbox_backends.docker.backend import DockerBackend

    async def build() -> str | None:
        base = await _custom_base(configuration(sandbox_flavour=flavour), dockerfile, devcontainer, context)
        backend = DockerBackend(configuration(sandbox_flavour=flavour, sandbox_base_image=base))
        try:
            await backend.open()
            await backend.prepare(typer.echo)
            return backend.image
        finally:
            await backend.close()

    typer.echo(f"The sandbox image is ready: {_answered(build())}")


@images.command("list")
def list_images(home: Home = None) -> None:
    """Show the sandbox images on this machine or on the sandbox hosts, and whether each is still needed."""
    has_silent = False
    for location in _image_locations(home, prune=False):
        for image in location.images:
            use = "current" if image.is_current else "in use" if image.is_used else "left over"
            line = f"{image.name}  {image.created_at[:19]}  {_megabytes(image.bytes):>8}  {use}"
            typer.echo(f"{line}{location.where}")
        has_silent |= _tell(location)
    raise typer.Exit(1 if has_silent else 0)


@images.command("prune")
def prune_images(home: Home = None) -> None:
    """Remove old sandbox images that Slipway has built. An image stays if a container uses it or if the
    current version needs it. The current version also needs the images on base images that users have chosen.
    """
    has_silent, count = False, 0
    for location in _image_locations(home, prune=True):
        for image in location.images:
            typer.echo(f"Removed {image.name}{location.where}")
        count += len(location.images)
        has_silent |= _tell(location)
    typer.echo(f"Removed {count} that nothing needs any more.")
    raise typer.Exit(1 if has_silent else 0)


@sandboxes.command("ls")
def list_sandboxes(home: Home = None) -> None:
    """Show every sandbox: its status, whether its container or process runs, and its sandbox host."""
    from app_server.cli.sandbox_inventory import Entry, Inventory

    async def look(inventory: Inventory) -> tuple[list[Entry], int]:
        return await inventory.entries(), inventory.spare()

    entries, spare = _of_home(home, look)
    for entry in entries:
        state = "up" if entry.runs else "down"
        moment = entry.created_at.isoformat(timespec="seconds")
        host = f"  {entry.host}" if entry.host else ""
        typer.echo(f"{entry.id.hex}  {entry.status:<8}  {state:<4}  {moment}  {entry.spec_id}{host}")
    if spare:
        typer.echo(f"{spare} more kept ready for new conversations")


@sandboxes.command("logs")
def show_log(sandbox_id: SandboxId, home: Home = None) -> None:
    """Show the last lines of the output of a sandbox's agent server, even if the sandbox has stopped."""
    from app_server.cli.sandbox_inventory import Inventory
    from app_server.sandbox_backends.backend import LastWords

    async def last_words(inventory: Inventory) -> LastWords:
        return await inventory.last_words(sandbox_id)

    typer.echo(_of_home(home, last_words).output)


@sandboxes.command("stop")
def stop_sandbox(sandbox_id: SandboxId, home: Home = None) -> None:
    """Stop a sandbox. Its commands end, and its files stay. The next message to one of its conversations
    starts it again.
    """
    from uuid import UUID

    from app_server.cli.sandbox_inventory import Inventory

    async def stop(inventory: Inventory) -> UUID:
        return await inventory.stop(sandbox_id)

    typer.echo(f"Stopped {_of_home(home, stop).hex}.")


def run_doctor(home: Home = None, as_json: Json = False) -> None:
    """Check whether sandboxes work on this machine and are safe. Print the problems and how to fix them.

    The exit code is 1 if something does not work. It is 0 if there are no problems, or only warnings.
    """
    import json
    from dataclasses import asdict

    from app_server.doctor.checks import examine

    async def show() -> list["Finding"]:
        found = []
        async for finding in examine(configuration(home=home)):
            found.append(finding)
            if as_json:
                typer.echo(json.dumps(asdict(finding)))
            else:
                _show(finding)
        return found

    has_error = any(finding.state == "error" for finding in asyncio.run(show()))
    raise typer.Exit(1 if has_error else 0)


def _answered(work: Coroutine[Any, Any, Result]) -> Result:
    try:
        return asyncio.run(work)
    except StartFailure as failure:
        leave(f"{failure.cause}\n{failure.output}\nFix: {failure.fix}\nCode: {failure.code}")
    except AppError as error:
        leave(f"{error.detail}\nFix: {error.fix}\nCode: {error.code}")


async def _custom_base(
    config: Config, dockerfile: Path | None, devcontainer: Path | None, context: Path | None
) -> str | None:
    """Returns the name of the base image that the options of `slipway images build` request. If a
    Dockerfile describes this image, builds the image if the container engine does not have it yet. Returns
    None if the options request no base image.

    `dockerfile`, `devcontainer`: the file that describes the base image; at most one may be given. `context`:
    the directory from which the Dockerfile copies files.

    Ends the program if these options contradict each other or if SLIPWAY_SANDBOX_IMAGE is set. Raises
    BadRequest if a file is not valid. Raises StartFailure if the image cannot be built.
    """
    from app_server.sandbox_images.custom_base import ensure_custom_base

    base = _base_of(dockerfile, devcontainer, context)
    if base is None:
        return None
    if config.sandbox_image:
        leave("SLIPWAY_SANDBOX_IMAGE is set: sandboxes start from it, whatever it is built on. Unset it.")
    if not isinstance(base, str):
        base = await ensure_custom_base(base, config.sandbox_flavour, typer.echo)
    typer.echo(f"The base image is {base}. For sandboxes on it: SLIPWAY_SANDBOX_BASE_IMAGE={base}")
    return base


def _base_of(
    dockerfile: Path | None, devcontainer: Path | None, context: Path | None
) -> "str | BaseSource | None":
    """Reads from the options of `slipway images build` which base image they request, without building it.
    Returns the name of the image, or the Dockerfile and options from which it must be built. Returns None if
    the options request no base image.

    The parameters are those of `_custom_base`. Ends the program if both files are given, or if `context` is
    given without a file. Raises BadRequest if a file is not valid.
    """
    from app_server.sandbox_images.custom_base import resolved_source
    from app_server.sandbox_images.devcontainer import read_devcontainer

    if dockerfile and devcontainer:
        leave("Name a Dockerfile or a devcontainer.json, not both.")
    if devcontainer:
        found = read_devcontainer(devcontainer, context)
        for each in found.ignored:
            typer.echo(f"Not used: {each}")
        return found.base
    if context and not dockerfile:
        leave("--context says from where a Dockerfile copies: name that too, with --dockerfile.")
    return resolved_source(dockerfile, context) if dockerfile else None


def _image_locations(home: Path | None, *, prune: bool) -> "list[ImageLocation]":
    from app_server.cli.image_locations import image_locations

    return _answered(image_locations(configuration(home=home), prune=prune))


def _tell(location: "ImageLocation") -> bool:
    """Prints an error text if the images of a sandbox host could not be listed or removed. Returns whether it
    printed one.
    """
    if location.failure is None:
        return False
    typer.secho(f"{location.failure.cause}\nFix: {location.failure.fix}", fg=typer.colors.RED, err=True)
    return True


def _of_home(home: Path | None, work: Callable[..., Coroutine[Any, Any, Result]]) -> Result:
    from app_server.cli.sandbox_inventory import open_inventory

    config = configuration(home=home)
    require_database(config)

    async def answer() -> Result:
        async with open_inventory(config) as inventory:
            return await work(inventory)

    return _answered(answer())


def _show(finding: "Finding") -> None:
    typer.secho(f"{finding.state:<8}", fg=_COLOURS[finding.state], nl=False)
    typer.echo(f" {finding.name:<14} {finding.cause}")
    if finding.fix:
        typer.echo(f"{'':<24}Fix: {finding.fix}")


_COLOURS = {"ok": typer.colors.GREEN, "warning": typer.colors.YELLOW, "error": typer.colors.RED}


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
