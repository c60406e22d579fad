"""Checks a request in which the app server asks this sandbox host to build a base image, the image on which a
sandbox image is built. The description and the files of the base image reach the Docker engine only after
this check.
"""

import gzip
import tempfile
from typing import IO

from app_server.core.config import Config
from app_server.core.errors import BadRequest, PayloadTooLarge
from app_server.sandbox_backends.remote.wire import BaseRequest
from app_server.sandbox_images.base_image import BaseImage, BuildFiles, BuildLimits
from app_server.sandbox_images.build_context import MAX_TAR_BYTES, read_packed
from app_server.sandbox_images.custom_base import name_base
from app_server.sandbox_images.definition import REPOSITORY


def base_by_name(name: str, config: Config) -> BaseImage:
    """Returns the description of the base image with this name. A base image is the image on which a sandbox
    image is built.

    The description says that the image is not built from files. So this host must have the base image
    already, or must be able to pull it from a registry.
    """

    async def no_files() -> None:
        return None

    return BaseImage(name, BuildLimits.of(config), no_files)


def base_of(asked: BaseRequest, packed: bytes | None, config: Config) -> BaseImage:
    """Checks the request `asked` and returns the description of the base image that the app server asks for.
    Raises PayloadTooLarge if the files are too large, and BadRequest if the check fails for another reason.
    Blocks the thread.

    `packed`: the gzipped tar of the files from which this host must build the base image; None if the image
    is on this host already or comes from a registry.
    """
    if asked.name.partition(":")[0] == REPOSITORY:
        raise BadRequest(f"{asked.name} is not a base image.", code="image_not_allowed")
    if (asked.dockerfile is None) != (packed is None):
        raise BadRequest(
            "A Dockerfile and what it is built with belong together.", code="build_context_missing"
        )
    files = _files(asked, packed) if packed is not None else None

    async def what_it_is_built_from() -> tuple[BuildFiles, bytes] | None:
        return (files, packed) if files and packed else None

    network = "none" if asked.network == "none" else None
    limits = BuildLimits(asked.timeout_seconds, asked.max_bytes, network)
    return BaseImage(asked.name, limits.within(BuildLimits.of(config)), what_it_is_built_from)


def _files(asked: BaseRequest, packed: bytes) -> BuildFiles:
    with tempfile.TemporaryFile() as tar:
        _unpack(packed, tar)
        try:
            found = read_packed(tar, str(asked.dockerfile))
        except ValueError as error:
            raise BadRequest(str(error), code="build_context_unreadable") from error
    files = name_base(found, asked.arguments, asked.target)
    if files.name != asked.name:
        # The name must match the files, because later starts use the image by its name alone.
        raise BadRequest(
            f"{asked.name} is not built from these files: they make {files.name}.",
            code="build_context_unreadable",
            fix="Start again. If it stays so, run the same version of Slipway on the app server and here.",
        )
    return files


def _unpack(packed: bytes, tar: IO[bytes]) -> None:
    """Decompresses the gzipped tar `packed` into the file `tar`. Raises BadRequest if the data is damaged,
    and PayloadTooLarge if the result is larger than MAX_TAR_BYTES. Counts the decompressed bytes, because the
    size that the data states may be wrong.
    """
    with tempfile.TemporaryFile() as given:
        given.write(packed)
        given.seek(0)
        try:
            with gzip.GzipFile(fileobj=given) as unpacked:
                content = unpacked.read(MAX_TAR_BYTES + 1)
        except (OSError, EOFError) as error:
            raise BadRequest(f"The files are damaged: {error}", code="build_context_unreadable") from error
    if len(content) > MAX_TAR_BYTES:
        raise PayloadTooLarge(
            f"The build context is larger than {MAX_TAR_BYTES // 1024**2} MiB.",
            code="build_context_too_large",
        )
    tar.write(content)
    tar.seek(0)
