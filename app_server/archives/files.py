"""Reads and writes compressed archive files. A new file gets its final name only when it is complete. The
SHA-256 hash of a file is checked before the file is read. All calls block.
"""

import gzip
import hashlib
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

from app_server.core.errors import StartFailure
from app_server.sandbox_backends.workspace_tar import members, reading


@dataclass(frozen=True)
class WrittenArchive:
    """The description of an archive file that was written completely.

    `size_bytes`: the size of the file on disk. `sha256`: the SHA-256 hash of the file, in hexadecimal digits.
    """

    size_bytes: int
    sha256: str


class Aborted(Exception):
    """The error that `ArchiveWriter.write` and `ArchiveReader.read` raise after `abort` was called on the
    object. It ends the thread that copies the files.
    """


class ArchiveWriter:
    """A writable object that compresses the tar of a workspace into a new archive file. It is used in a
    `with` block. If the block ends without a call of `finish`, the incomplete file is deleted.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._draft = path.with_name(f"{path.name}.new")
        self._remaining_bytes = max_bytes
        self._max_bytes = max_bytes
        self._is_aborted = False

    def __enter__(self) -> Self:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._file = _Hashed(os.fdopen(descriptor, "wb"))
        self._compressed = gzip.GzipFile("", "wb", 1, self._file, mtime=0)
        return self

    def __exit__(self, *_: object) -> None:
        self._compressed.fileobj = None  # type: ignore[assignment]  # what is left in its buffers is of no use
        self._file.close()
        self._draft.unlink(missing_ok=True)

    def write(self, piece: bytes) -> int:
        """Adds a piece of the tar to the file and returns the number of bytes in the piece.

        Raises Aborted after a call of `abort`. Raises StartFailure `archive_too_large` if the tar is larger
        than the limit. Raises OSError if the file cannot be written, for example because the disk is full.
        """
        if self._is_aborted:
            raise Aborted
        self._remaining_bytes -= len(piece)
        if self._remaining_bytes < 0:
            raise StartFailure(
                "archive_too_large",
                f"The workspace holds more than {self._max_bytes} bytes.",
                fix="Remove files from it, or raise SLIPWAY_SANDBOX_ARCHIVE_MAX_BYTES.",
            )
        return self._compressed.write(piece)

    def abort(self) -> None:
        """Makes every later call of `write` raise Aborted. May be called from any thread."""
        self._is_aborted = True

    def finish(self) -> WrittenArchive:
        """Completes the file on disk, reads it back to verify it, and gives it its final name. Returns the
        size and the hash of the file. Raises StartFailure `archive_damaged` if the file was not stored
        correctly.
        """
        self._compressed.close()
        self._file.sync()
        written = WrittenArchive(self._file.size, self._file.digest())
        verify(self._draft, written.sha256)
        self._draft.replace(self._path)
        _sync_directory(self._path.parent)
        return written


class ArchiveReader:
    """A readable object that decompresses the tar of a workspace from an archive file."""

    def __init__(self, path: Path, sha256: str) -> None:
        """Checks the hash of the archive file and opens the file. `sha256`: the expected hash.

        Raises StartFailure: `archive_missing` if there is no file, `archive_damaged` if the hash is
        different.
        """
        self._is_aborted = False
        check_hash(path, sha256)
        self._file = gzip.open(path, "rb")  # noqa: SIM115 (closed by __exit__)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int = -1) -> bytes:
        if self._is_aborted:
            raise Aborted
        return self._file.read(size)

    def abort(self) -> None:
        self._is_aborted = True


def verify(path: Path, sha256: str) -> None:
    """Checks an archive file completely: compares its hash with `sha256` and reads its whole tar.

    Raises StartFailure: `archive_missing` if there is no file, `archive_damaged` if a check fails.
    """
    with ArchiveReader(path, sha256) as source:
        try:
            with reading(source) as tar:
                for _ in members(tar):
                    pass
        except (tarfile.TarError, EOFError, OSError) as error:
            raise _damaged(path, str(error)) from error


def check_hash(path: Path, sha256: str) -> None:
    """Checks that the file has the given SHA-256 hash. Raises StartFailure: `archive_missing` if there is no
    file, `archive_damaged` if the hash is different.
    """
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise StartFailure(
            "archive_missing",
            f"The archive {path} with the workspace of this conversation is missing.",
            fix="Restore it from a backup of SLIPWAY_HOME, then try again.",
        ) from None
    if found != sha256:
        raise _damaged(path, "its content is not what Slipway wrote")


def _damaged(path: Path, reason: str) -> StartFailure:
    return StartFailure(
        "archive_damaged",
        f"The archive {path} is damaged: {reason}.",
        fix="Check the disk, restore the file from a backup of SLIPWAY_HOME, then try again.",
    )


class _Hashed:
    """A wrapper around a writable file. It computes the SHA-256 hash and the total size of the data that is
    written to the file.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, piece: bytes) -> int:
        self._hash.update(piece)
        self.size += len(piece)
        return self._file.write(piece)

    def flush(self) -> None:
        self._file.flush()

    def sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def digest(self) -> str:
        return self._hash.hexdigest()

    def close(self) -> None:
        self._file.close()


def _sync_directory(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
