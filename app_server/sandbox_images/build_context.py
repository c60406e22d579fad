"""Packs the build context of a user's Dockerfile into a tar file and computes a hash of it. The build context
is the set of files that `docker build` can read.
"""

import hashlib
import os
import stat
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash

MAX_TAR_BYTES = 64 * 1024**2
"""The size limit, in bytes, of a build context (the tar of the files for an image build) that is stored in
the database or sent to a sandbox host.
"""
# The name in the archive of a Dockerfile that is outside of its context.
OUTSIDE = ".dockerfile.slipway"
_CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True)
class PackedContext:
    """A description of a build context that is packed in a tar file. `digest`: a hash of the names, modes,
    link targets and contents of all files. `dockerfile`: the path of the Dockerfile in the tar. `files`,
    `bytes`: the number and the total size of all files except the Dockerfile.
    """

    digest: str
    dockerfile: str
    files: int
    bytes: int


def pack(context: Path, dockerfile: Path, sink: IO[bytes]) -> PackedContext:
    """Writes the build context as a tar into `sink` and returns a description of the tar. Then sets the
    position of `sink` to its start.

    `context`, `dockerfile`: the resolved paths of the folder and the Dockerfile. Files that a `.dockerignore`
    file excludes are left out. Symbolic links are packed as links. Each file is read only once, so the hash
    always matches the packed data. Blocks the thread. Raises OSError if a file cannot be read.
    """
    is_inside = dockerfile.is_relative_to(context)
    name = str(dockerfile.relative_to(context)) if is_inside else OUTSIDE
    digest, count, size = hashlib.sha256(), 0, 0
    with tarfile.open(fileobj=sink, mode="w") as tar:
        # docker recognizes its input as an archive only if it begins with a plain header.
        root = tarfile.TarInfo(".")
        root.type, root.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(root)
        _add(tar, digest, dockerfile, name)
        for path in sorted(_included_paths(context, dockerfile, name) - {name}):
            packed_bytes = _add(tar, digest, context / path, path)
            count, size = count + (packed_bytes is not None), size + (packed_bytes or 0)
    sink.seek(0)
    return PackedContext(digest.hexdigest(), name, count, size)


def read_packed(source: IO[bytes], dockerfile: str) -> PackedContext:
    """Reads a tar file that another server has packed, computes its hash again, and returns a description of
    the tar. Then sets the position of `source` to its start. Blocks the thread.

    `dockerfile`: the path of the Dockerfile in the tar. Raises ValueError if `source` is not a tar or the
    Dockerfile is missing. Raises ValueError if a path leads out of the tar. Raises ValueError if the tar
    contains something other than files, folders and symbolic links.
    """
    digest, count, size, has_dockerfile = hashlib.sha256(), 0, 0, False
    try:
        with tarfile.open(fileobj=source, mode="r:") as tar:
            for member in tar:
                if member.name == "." and member.isdir():
                    continue
                _require_inside(member)
                digest.update(_head(member))
                if not member.isreg():
                    continue
                file = tar.extractfile(member)
                assert file, "it is a file"
                while chunk := file.read(_CHUNK_BYTES):
                    digest.update(chunk)
                if member.name == dockerfile:
                    has_dockerfile = True
                else:
                    count, size = count + 1, size + member.size
    except (tarfile.TarError, EOFError) as error:
        raise ValueError(f"It is not a tar file: {error}") from error
    if not has_dockerfile:
        raise ValueError("The Dockerfile is not among the files.")
    source.seek(0)
    return PackedContext(digest.hexdigest(), dockerfile, count, size)


def _require_inside(member: tarfile.TarInfo) -> None:
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or "\0" in member.name:
        raise ValueError(f"{member.name!r} leads out of the files.")
    if not (member.isreg() or member.isdir() or member.issym()):
        raise ValueError(f"{member.name!r} is not a file, a folder or a link.")


def _included_paths(context: Path, dockerfile: Path, name: str) -> set[str]:
    # The Docker library knows the rules. Loading it takes 0.3 s, so only builds load it.
    from docker.utils.build import exclude_paths

    # An ignore file beside the Dockerfile, with its name, comes before the context's ignore file.
    candidates = (dockerfile.with_name(f"{dockerfile.name}.dockerignore"), context / ".dockerignore")
    rules = next((path.read_text(errors="replace") for path in candidates if path.is_file()), "")
    lines = (line.strip() for line in rules.removeprefix("\ufeff").splitlines())
    patterns = [line for line in lines if line and not line.startswith("#")]
    return set(exclude_paths(str(context), patterns, dockerfile=name))


def _add(tar: tarfile.TarFile, digest: "_Hash", path: Path, name: str) -> int | None:
    """Adds the file, folder or symbolic link at `path` to the tar and to the hash. Adds nothing for sockets
    and other special files. `name`: the name in the tar. Returns the size in bytes for a file, and None for
    everything else.
    """
    member = _member(path, name)
    if member is None:
        return None
    digest.update(_head(member))
    if not member.isreg():
        tar.addfile(member)
        return None
    with path.open("rb") as file:
        tar.addfile(member, _Hashed(file, digest))
    return member.size


def _head(member: tarfile.TarInfo) -> bytes:
    """Returns the part of a tar entry's header that is hashed: the type, the name, the mode, the link target
    and the size. Times and owners are left out, so that a new clone of the same files gives the same hash.
    """
    head = f"{member.name}\0{member.mode:o}\0{member.linkname}\0{member.size}\0"
    return member.type + os.fsencode(head)


def _member(path: Path, name: str) -> tarfile.TarInfo | None:
    """Returns the tar entry, called `name`, for the file, folder or symbolic link at `path`. Returns None for
    sockets and other special files, because `docker build` cannot copy them into an image.
    """
    status = path.lstat()
    member = tarfile.TarInfo(name)
    member.mode, member.mtime = stat.S_IMODE(status.st_mode), max(0, int(status.st_mtime))
    if stat.S_ISREG(status.st_mode):
        member.size = status.st_size
    elif stat.S_ISDIR(status.st_mode):
        member.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(status.st_mode):
        member.type, member.linkname = tarfile.SYMTYPE, os.readlink(path)  # noqa: PTH115 (it would tidy up)
    else:
        return None
    return member


class _Hashed:
    """A readable file object that adds all data that is read from the file to a hash."""

    def __init__(self, file: IO[bytes], digest: "_Hash") -> None:
        self._file = file
        self._digest = digest

    def read(self, size: int = -1) -> bytes:
        chunk = self._file.read(size)
        self._digest.update(chunk)
        return chunk
