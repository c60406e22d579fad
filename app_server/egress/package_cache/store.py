"""Stores package files on disk, separately for each user. The files that were unused for longest are removed
first.

A file of the store is one line of JSON (data about the reply) and then the body. Only the app server writes
here, and only what it fetched itself: no sandbox can change what another one gets.
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
"""Free disk space that is always left. Nothing is stored beyond that."""

_DRAFT = ".draft-"
_ROOM = 0.9
"""The part of the limit that remains used after files are removed, so that this is not needed for
each file.
"""

Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Kept:
    """A stored reply of a package host with its open file, which can be read even if the file is removed
    meanwhile.
    """

    headers: Headers
    length: int
    _file: BinaryIO

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields the body of the stored reply from its beginning. Raises OSError."""
        while piece := await asyncio.to_thread(self._file.read, PIECE_BYTES):
            yield piece

    def close(self) -> None:
        self._file.close()


class Draft:
    """A reply of a package host that is being written to disk. It can be read only when it is complete."""

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
        """Adds a piece of the reply's body. Raises OSError."""
        self._missing -= len(piece)
        self._pieces.append(piece)
        self._waiting += len(piece)
        if self._waiting >= PIECE_BYTES:
            await self._flush(is_last=False)

    async def keep(self) -> None:
        """Makes the stored file available to later requests. If its length is wrong, deletes the file. Raises
        OSError.
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
    """The stored package files of all users. max_bytes: the limit for each user."""

    def __init__(self, directory: Path, max_bytes: int) -> None:
        self._directory = directory
        self._max_bytes = max_bytes
        self._totals: dict[Path, int] = {}
        self._changing = asyncio.Lock()

    async def find(self, user_id: UUID, name: str) -> Kept | None:
        """Returns a stored package file and records its use. Returns None if there is no valid file with this
        name.
        """
        return await asyncio.to_thread(_open, self._path(user_id, name))

    async def draft(
        self, user_id: UUID, name: str, headers: Headers, length: int, seconds: float
    ) -> Draft | None:
        """Begins to store a reply. Returns None if there is not enough room. seconds: how long the reply may
        be cached.
        """
        path = self._path(user_id, name)
        if length > self._max_bytes or not await asyncio.to_thread(self._has_room, path.parent, length):
            return None
        head = {"name": name, "headers": headers, "length": length, "until": time.time() + seconds}
        return Draft(self, path, json.dumps(head).encode() + b"\n", length)

    async def take_in(self, draft: Path, path: Path) -> None:
        """Moves a complete draft into the store under `path`. Raises OSError."""
        async with self._changing:
            await asyncio.to_thread(self._take_in, draft, path)

    def _path(self, user_id: UUID, name: str) -> Path:
        return self._directory / user_id.hex / hashlib.sha256(name.encode()).hexdigest()

    def _has_room(self, folder: Path, length: int) -> bool:
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
            self._totals[folder] = _shrunk(folder, int(self._max_bytes * _ROOM), last=path)


def _append(path: Path, content: bytes, *, is_last: bool) -> None:
    with path.open("ab") as file:
        file.write(content)
        if is_last:
            file.flush()
            os.fsync(file.fileno())


def _open(path: Path) -> Kept | None:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    try:
        head = json.loads(file.readline())
        is_whole = path.stat().st_size - file.tell() == head["length"]
        if is_whole and head["until"] > time.time():
            os.utime(path)
            return Kept(head["headers"], head["length"], file)
    except (OSError, ValueError, KeyError):
        logger.warning("a file of the package cache cannot be read: %s", path)
    file.close()
    return None


def _tidied(folder: Path, *, except_for: Path) -> int:
    """Deletes unfinished files of a killed server. Returns the total size of the folder in bytes."""
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
    """Deletes the files that were unused for longest until the folder is smaller than `goal` bytes. Returns
    the remaining size. `last` is not deleted.
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
