"""Stores package files on disk, in a separate folder for each user. If the folder is too large, deletes the
files that were not used for the longest time.

Each stored file begins with one line of JSON, which describes the reply of the package host. The body of the
reply follows. Only the app server writes here, and only files that it has fetched itself. So a sandbox cannot
change the files that another sandbox gets.
"""

import asyncio
import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from uuid import UUID, uuid4

logger = logging.getLogger(__name__)

PIECE_BYTES = 1024**2
FREE_BYTES = 1024**3
"""The minimum free disk space in bytes. A file is not stored if less free space than this would remain on the
disk.
"""

_DRAFT = ".draft-"
_FILL_AFTER_CLEANUP = 0.9
"""If the limit of a user is exceeded, files of this user are deleted until the remaining files together have
at most this fraction of the limit. The fraction is less than 1, so that the next stored file does not
exceed the limit again.
"""

Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class StoredReply:
    """A stored reply of a package host, with its file open for reading. The reply can be read even if the
    file is deleted from the store after it was opened. `length`: the length of the body in bytes.
    """

    headers: Headers
    length: int
    _file: BinaryIO

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields the body of the stored reply in pieces, from its beginning. Raises OSError if the file
        cannot be read.
        """
        while piece := await asyncio.to_thread(self._file.read, PIECE_BYTES):
            yield piece

    def close(self) -> None:
        self._file.close()


class Draft:
    """A reply of a package host that is being written to a temporary file. The method `keep` moves the
    finished file into the store; only then can later requests read it. `length`: the expected length of the
    body in bytes.
    """

    def __init__(self, store: "PackageStore", path: Path, head: bytes, length: int) -> None:
        self._store = store
        self._path = path
        self._draft = path.with_name(f"{_DRAFT}{uuid4().hex}")
        self._head = head
        self._missing = length
        self._pieces: list[bytes] = []
        self._waiting = 0
        self._is_begun = False

    async def write(self, piece: bytes) -> None:
        """Adds a piece to the reply's body. The pieces are collected and written to disk in larger blocks.
        Raises OSError if the file cannot be written.
        """
        self._missing -= len(piece)
        self._pieces.append(piece)
        self._waiting += len(piece)
        if self._waiting >= PIECE_BYTES:
            await self._flush(is_last=False)

    async def keep(self) -> None:
        """Finishes the file and moves it into the store, where later requests can read it. If the body does
        not have the expected length, deletes the file instead. Raises OSError if the file cannot be written.
        """
        if self._missing != 0:
            await self.drop()
            return
        await self._flush(is_last=True)
        await self._store.take_in(self._draft, self._path)
        self._is_begun = False

    async def drop(self) -> None:
        self._pieces.clear()
        if self._is_begun:
            self._is_begun = False
            await asyncio.to_thread(self._draft.unlink, missing_ok=True)

    async def _flush(self, *, is_last: bool) -> None:
        content, self._pieces, self._waiting = b"".join(self._pieces), [], 0
        if not self._is_begun:
            content, self._is_begun = self._head + content, True
        await asyncio.to_thread(_append, self._draft, content, is_last=is_last)


class PackageStore:
    """The package files of all users on disk. max_bytes: the maximum size, in bytes, of the files of each
    user.
    """

    def __init__(self, directory: Path, max_bytes: int) -> None:
        self._directory = directory
        self._max_bytes = max_bytes
        self._totals: dict[Path, int] = {}
        self._changing = asyncio.Lock()

    async def find(self, user_id: UUID, name: str) -> StoredReply | None:
        """Returns the reply of a package host that is stored for the user under this name, and updates the
        time of its last use. Returns None if there is no such reply, or if it has expired or is incomplete.
        """
        return await asyncio.to_thread(_open, self._path(user_id, name))

    async def draft(
        self, user_id: UUID, name: str, headers: Headers, length: int, seconds: float
    ) -> Draft | None:
        """Begins to store a reply of a package host. Returns the Draft, the temporary file to which the
        caller writes the reply's body. Returns None if the reply is larger than the limit of a user or the
        disk has not enough free space.

        name: the key under which the reply is found later. length: the length of the body in bytes. seconds:
        how long the reply may be served from the cache.
        """
        path = self._path(user_id, name)
        if length > self._max_bytes or not await asyncio.to_thread(self._has_disk_space, path.parent, length):
            return None
        head = {"name": name, "headers": headers, "length": length, "until": time.time() + seconds}
        return Draft(self, path, json.dumps(head).encode() + b"\n", length)

    async def take_in(self, draft: Path, path: Path) -> None:
        """Moves a completely written temporary file into the store. If the user's files are then larger than
        the limit, deletes those that were not used for the longest time.

        draft: the path of the temporary file. path: the path of the file in the store. Raises OSError if the
        file cannot be moved.
        """
        async with self._changing:
            await asyncio.to_thread(self._take_in, draft, path)

    def _path(self, user_id: UUID, name: str) -> Path:
        return self._directory / user_id.hex / hashlib.sha256(name.encode()).hexdigest()

    def _has_disk_space(self, folder: Path, length: int) -> bool:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return shutil.disk_usage(folder).free >= length + FREE_BYTES

    def _take_in(self, draft: Path, path: Path) -> None:
        folder = path.parent
        if folder not in self._totals:
            self._totals[folder] = _tidied(folder, except_for=draft)
        before = path.stat().st_size if path.exists() else 0
        size = draft.stat().st_size
        draft.replace(path)
        self._totals[folder] += size - before
        if self._totals[folder] > self._max_bytes:
            self._totals[folder] = _shrunk(folder, int(self._max_bytes * _FILL_AFTER_CLEANUP), last=path)


def _append(path: Path, content: bytes, *, is_last: bool) -> None:
    with path.open("ab") as file:
        file.write(content)
        if is_last:
            file.flush()
            os.fsync(file.fileno())


def _open(path: Path) -> StoredReply | None:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    try:
        head = json.loads(file.readline())
        is_whole = path.stat().st_size - file.tell() == head["length"]
        if is_whole and head["until"] > time.time():
            os.utime(path)
            return StoredReply(head["headers"], head["length"], file)
    except (OSError, ValueError, KeyError):
        logger.warning("a file of the package cache cannot be read: %s", path)
    file.close()
    return None


def _tidied(folder: Path, *, except_for: Path) -> int:
    """Deletes unfinished files that a stopped server has left in the folder. Returns the total size in bytes
    of the complete files. `except_for`: the file that is being stored now; it is not deleted.
    """
    total = 0
    for entry in folder.iterdir():
        if entry.name.startswith(_DRAFT):
            # Drafts that this process is writing now are less than an hour old, so they stay.
            if entry != except_for and entry.stat().st_mtime < time.time() - 3600:
                entry.unlink(missing_ok=True)
        else:
            total += entry.stat().st_size
    return total


def _shrunk(folder: Path, goal: int, *, last: Path) -> int:
    """Deletes files from the folder until their total size is at most `goal` bytes. Begins with the files
    that were not used for the longest time. Returns the remaining size in bytes. `last`: the file that was
    stored last; it is not deleted.
    """
    found = [(entry, entry.stat()) for entry in folder.iterdir() if not entry.name.startswith(_DRAFT)]
    total = sum(stat.st_size for _, stat in found)
    for entry, stat in sorted(found, key=lambda one: one[1].st_mtime_ns):
        if total <= goal:
            break
        if entry != last:
            entry.unlink(missing_ok=True)
            total -= stat.st_size
    return total
