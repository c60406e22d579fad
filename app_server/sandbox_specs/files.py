"""Packs the files from which a base image is built, and writes them to a tar. The files are a single
Dockerfile that a user has entered, or files in a repository.

The app server clones the repository, reads its files and packs them. It runs no code of the repository.
"""

import asyncio
import gzip
import re
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from app_server.core.errors import AppError, BadRequest, StartFailure
from app_server.git.address import Address
from app_server.git.command import Credentials
from app_server.git.repository_bundle import check_out
from app_server.http.guarded_client import Guard
from app_server.sandbox_images.build_context import MAX_TAR_BYTES
from app_server.sandbox_images.custom_base import BaseSource, pack_base, resolved_source
from app_server.sandbox_images.definition import BASE_REPOSITORY, REPOSITORY
from app_server.sandbox_images.devcontainer import CANDIDATE_PATHS, Devcontainer, read_devcontainer

CLONE_SECONDS = 120.0
MAX_SHOWN_CHARACTERS = 65_536


@dataclass(frozen=True)
class PackedSpec:
    """A base image with the packed files from which it is built.

    `base`: the name of the base image. `dockerfile`: the text of the Dockerfile, shortened if it is long.
    `build`: how to build the image from `tar`; the keys are the fields of the class BuildFiles except `name`,
    such as the path of the Dockerfile in the tar. `tar`: the gzipped tar with the files. If the image is not
    built but pulled by its name, `dockerfile`, `build` and `tar` are None.

    `origin`: the repository and the path in it from which the files come; None if they do not come from a
    repository. `path`: the path of the devcontainer.json or Dockerfile; empty if there is none. `ignored`:
    the parts of the devcontainer.json that Slipway ignores, each with a reason; empty or None if there is no
    devcontainer.json.
    """

    base: str
    dockerfile: str | None = None
    build: dict[str, Any] | None = None
    tar: bytes | None = None
    origin: str | None = None
    path: str = ""
    ignored: list[str] | None = None


def pack_text(dockerfile: str) -> PackedSpec:
    """Packs a Dockerfile that copies no files. Returns the base image that is built from it, with the packed
    Dockerfile. `dockerfile`: the text of the Dockerfile. Blocks the thread.
    """
    with tempfile.TemporaryDirectory(prefix="slipway-dockerfile-") as folder:
        file = Path(folder, "Dockerfile")
        file.write_text(dockerfile)
        return _packed(resolved_source(file), Devcontainer("", []), "Dockerfile")


async def pack_named(image: str | None, dockerfile: str | None) -> PackedSpec:
    """Returns the base image that a user has described in one of two ways: by the name of an image, or by the
    text of a Dockerfile that copies no files. Exactly one of the two arguments must be given.

    Raises BadRequest `image_not_allowed` for the name of one of Slipway's own images.
    """
    if image is not None:
        return PackedSpec(foreign_image(image))
    assert dockerfile is not None, "one of both is given"
    return await asyncio.to_thread(pack_text, dockerfile)


def foreign_image(image: str) -> str:
    """Checks that the image is not one of Slipway's own images, and returns the name unchanged. Raises
    BadRequest `image_not_allowed` for Slipway's own images, because they may contain files of another user.
    """
    if image.partition(":")[0] in {BASE_REPOSITORY, REPOSITORY}:
        raise BadRequest(
            f"{image} is an image of Slipway itself.",
            code="image_not_allowed",
            fix="Name what it was built from.",
        )
    return image


async def pack_repository(
    address: Address,
    branch: str | None,
    path: str | None,
    credentials: Credentials | None,
    guard: Guard | None,
) -> PackedSpec:
    """Clones a repository and packs the files from which its base image is built. Returns the base image with
    the packed files.

    `branch`: None means the default branch. `path`: the path of a devcontainer.json or Dockerfile in the
    repository; None means the first of the usual paths that exists. `credentials`: the user's credentials for
    the git host; None if the user has none. `guard`: refuses hosts in the server's private network; None
    allows all hosts.

    Raises BadRequest `repository_…` or `branch_not_found` if the repository cannot be cloned. Raises
    BadRequest `devcontainer_…` if the devcontainer.json cannot be used. Raises BadRequest
    `dockerfile_missing` if there is no Dockerfile. Raises BadRequest `build_context_too_large` if the files
    are too large.
    """
    scratch = await asyncio.to_thread(lambda: Path(tempfile.mkdtemp(prefix="slipway-base-")).resolve())
    try:
        project = await check_out(
            address,
            branch,
            directory=scratch,
            timeout_seconds=CLONE_SECONDS,
            credentials=credentials,
            guard=guard,
        )
        return await asyncio.to_thread(_pack_project, project, path, address.identity)
    except StartFailure as failure:
        raise BadRequest(failure.cause, code=failure.code, fix=failure.fix) from failure
    except AppError as error:
        # The temporary path is not shown.
        raise BadRequest(
            re.sub(rf"{re.escape(str(scratch))}(/tree)?/?", "", error.detail),
            code=error.code,
            fix=error.fix,
        ) from error
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)


def _pack_project(project: Path, path: str | None, identity: str) -> PackedSpec:
    file = _file(project, path)
    shown = str(file.relative_to(project))
    if file.suffix == ".json":
        found = read_devcontainer(file)
        if isinstance(found.base, str):
            return PackedSpec(found.base, origin=f"{identity}: {shown}", path=shown, ignored=found.ignored)
        return _packed(found.base, found, shown, identity)
    return _packed(resolved_source(file), Devcontainer("", []), shown, identity)


def _file(project: Path, path: str | None) -> Path:
    candidates = [path] if path else [*CANDIDATE_PATHS, "Dockerfile"]
    for candidate in candidates:
        file = project / candidate
        if not file.resolve().is_relative_to(project) or ".." in Path(candidate).parts:
            raise BadRequest(
                f"{candidate} leads out of the repository.",
                code="devcontainer_leads_out",
                fix="Name a file of the repository itself.",
            )
        if file.is_file():
            return file
    raise BadRequest(
        f"The repository has no {' and no '.join(candidates)}.",
        code="devcontainer_missing",
        fix="Name the path of its devcontainer.json or Dockerfile.",
    )


def _packed(source: BaseSource, found: Devcontainer, path: str, identity: str | None = None) -> PackedSpec:
    with tempfile.TemporaryFile() as tar:
        files = pack_base(source, tar)
        build = {name: value for name, value in asdict(files).items() if name != "name"}
        return PackedSpec(
            base=files.name,
            dockerfile=_text(source.dockerfile),
            build=build,
            tar=gzip.compress(_bounded(tar), mtime=0),
            origin=f"{identity}: {path}" if identity else None,
            path=path,
            ignored=found.ignored,
        )


def _bounded(tar: IO[bytes]) -> bytes:
    content = tar.read(MAX_TAR_BYTES + 1)
    if len(content) > MAX_TAR_BYTES:
        raise BadRequest(
            f"The build context is larger than {MAX_TAR_BYTES // 1024**2} MiB.",
            code="build_context_too_large",
            fix="Leave out in .dockerignore what the Dockerfile does not copy.",
        )
    return content


def _text(dockerfile: Path) -> str:
    with dockerfile.open(errors="replace") as file:
        return file.read(MAX_SHOWN_CHARACTERS)
