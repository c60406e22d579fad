"""Builds a base image from a user's Dockerfile. The name of the image contains a hash of everything that the
image is built from, so equal files give an equal name.
"""

import asyncio
import hashlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from app_server.core.config import SandboxFlavour
from app_server.core.errors import BadRequest, StartFailure
from app_server.core.start_report import Report
from app_server.docker_engine.connection import connect
from app_server.sandbox_images.base_image import BuildFiles, BuildLimits
from app_server.sandbox_images.build_context import PackedContext, pack
from app_server.sandbox_images.definition import BASE_REPOSITORY
from app_server.sandbox_images.docker_build import docker_build, docker_command, has_buildx
from app_server.sandbox_images.preflight import (
    is_present,
    require_disk_space,
    require_size,
    while_disk_has_space,
)

MAX_SHOWN = 300


@dataclass(frozen=True)
class BaseSource:
    """The files and options from which a base image is built. `dockerfile`, `context`: the resolved paths of
    the Dockerfile and of the build context folder. `arguments`, `target`: the options `--build-arg` and
    `--target` of `docker build`; `target` is None if the option is not used.
    """

    dockerfile: Path
    context: Path
    arguments: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None


def resolved_source(
    dockerfile: Path,
    context: Path | None = None,
    arguments: Mapping[str, str] | None = None,
    target: str | None = None,
) -> BaseSource:
    """Returns the files and options of an image build, with resolved paths. `context`: the build context
    folder; None means the folder of the Dockerfile. `arguments`, `target`: the options `--build-arg` and
    `--target` of `docker build`; None means that the option is not used.

    Raises BadRequest `dockerfile_missing` if `dockerfile` is not a file. Raises BadRequest
    `build_context_missing` if the build context is not a folder.
    """
    if not dockerfile.is_file():
        raise BadRequest(
            f"There is no Dockerfile at {printable(dockerfile)}.",
            code="dockerfile_missing",
            fix="Name the file itself, not its folder.",
        )
    folder = context or dockerfile.parent
    if not folder.is_dir():
        raise BadRequest(
            f"The build context {printable(folder)} is not a folder.",
            code="build_context_missing",
            fix="Name the folder from which the Dockerfile copies.",
        )
    return BaseSource(dockerfile.resolve(), folder.resolve(), arguments or {}, target)


def printable(name: object) -> str:
    """Returns the text of `name` in a form that is safe to print on a terminal: shortened, and with escape
    sequences in place of control characters. Used for text that comes from a repository.
    """
    text = str(name) if len(str(name)) <= MAX_SHOWN else f"{str(name)[:MAX_SHOWN]}…"
    return text if text.isprintable() else ascii(text)


async def ensure_custom_base(source: BaseSource, flavour: SandboxFlavour, report: Report) -> str:
    """Returns the name of the base image that is built from `source` (a Dockerfile, its build context and
    build options). Builds the image if the container engine does not have it yet.

    `flavour`: the variant of the sandbox image that will be built on this base image: `full` (with a browser
    and fonts) or `slim`. `report`: a function that is called with each line of progress.

    Raises BadRequest `build_context_unreadable` if the files cannot be read. Raises StartFailure if the build
    fails or the container engine does not answer.
    """
    docker = docker_command()
    (await asyncio.to_thread(connect)).close()
    with tempfile.TemporaryFile() as tar:
        files = await asyncio.to_thread(pack_base, source, tar)
        if not await is_present(docker, files.name):
            size = f"{files.files} files, {files.bytes / 1e6:.1f} MB"
            report(f"Building {files.name} from {printable(source.dockerfile)} ({size})")
            await build_base(docker, files, tar, flavour, BuildLimits(), report)
    return files.name


def pack_base(source: BaseSource, tar: IO[bytes]) -> BuildFiles:
    """Writes into `tar` the files from which the user's base image is built. Returns a description of these
    files and the name that the base image will have. Blocks the thread. Raises BadRequest
    `build_context_unreadable` if a file cannot be read or the files are too large.
    """
    return name_base(_pack(source, tar), source.arguments, source.target)


def name_base(packed: PackedContext, arguments: Mapping[str, str], target: str | None) -> BuildFiles:
    """Computes the name of the base image that will be built from the packed files. Returns the description
    of the build, which includes this name. The name contains a hash of the files and the build options, so
    equal files and options give an equal name.

    `packed`: the description of the packed files. `arguments`, `target`: the options `--build-arg` and
    `--target` of `docker build`; `target` is None if the option is not used.
    """
    parts = [packed.digest, packed.dockerfile, sorted(arguments.items()), target]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
    name = f"{BASE_REPOSITORY}:{digest}"
    return BuildFiles(name, packed.dockerfile, arguments, target, packed.files, packed.bytes)


async def build_base(
    docker: str,
    files: BuildFiles,
    tar: IO[bytes],
    flavour: SandboxFlavour,
    limits: BuildLimits,
    report: Report,
) -> None:
    """Builds the base image from the files in `tar`. `docker`: the path of the docker program. `flavour`: the
    variant of the sandbox image that will be built on this base image.

    Raises StartFailure `sandbox_base_build_failed` if the build fails. Raises StartFailure
    `sandbox_base_too_large` if the image is larger than `limits` allows. Raises StartFailure
    `sandbox_image_no_room` if the disk is too full.
    """
    await require_disk_space(docker, flavour)
    options = [f"--build-arg={key}={value}" for key, value in files.arguments.items()]
    options += [f"--target={files.target}"] if files.target else []
    options += [f"--network={limits.network}"] if limits.network else []
    status, output = await while_disk_has_space(
        docker,
        docker_build(docker, files.name, files.dockerfile, options, tar, report, limits.timeout_seconds),
    )
    if status != 0:
        raise await _not_built(docker, files, output, limits)
    await require_size(docker, files.name, limits.max_bytes)


async def _not_built(docker: str, files: BuildFiles, output: str, limits: BuildLimits) -> StartFailure:
    fix = "Fix the problem that the output names. `docker build` shows the same."
    if limits.network:
        fix += " Its commands have no network here (SLIPWAY_SANDBOX_BUILD_NETWORK)."
    if not await has_buildx(docker):
        fix += (
            " The docker command here lacks its buildx plugin: without it there is no --mount and no heredoc."
        )
    return StartFailure(
        "sandbox_base_build_failed",
        f"The base image could not be built from {printable(files.dockerfile)}.",
        fix=fix,
        output=output,
    )


def _pack(source: BaseSource, tar: IO[bytes]) -> PackedContext:
    try:
        return pack(source.context, source.dockerfile, tar)
    except OSError as error:
        raise BadRequest(
            f"The build context {printable(source.context)} could not be packed: {error}.",
            code="build_context_unreadable",
            fix="Leave out in .dockerignore what cannot be read or is not needed; the rest has to fit into "
            f"{tempfile.gettempdir()}.",
        ) from error
