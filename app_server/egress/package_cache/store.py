"""Package files on disk, apart for each user: written once, read often, the longest unused removed first.

A file of the store is one line of JSON (what the answer said of itself) and then the body. The app server
alone writes here, and only what it fetched itself: no sandbox can change what another one gets.
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
"""So much of the disk stays free: nothing is kept beyond that."""

_DRAFT = ".draft-"
_ROOM = 0.9
"""How much of the limit is left full after files were removed, so that this is not done at each file."""

Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Kept:
    """An answer as it was. Its file is open: one that is removed meanwhile can still be read."""

    headers: Headers
    length: int
    _file: BinaryIO

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body, from the beginning. Raises OSError."""
        while piece := await asyncio.to_thread(self._file.read, PIECE_BYTES):
            yield piece

    def close(self) -> None:
        self._file.close()


class Draft:
    """An answer on its way to the disk. It is read only once it is whole."""

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
        """Raises OSError."""
        self._missing -= len(piece)
        self._pieces.append(piece)
        self._waiting += len(piece)
        if self._waiting >= PIECE_BYTES:
            await self._flush(is_last=False)

    async def keep(self) -> None:
        """From now on it is found. Nothing happens when it is not as long as it said. Raises OSError."""
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
    """max_bytes: of each user."""

    def __init__(self, directory: Path, max_bytes: int) -> None:
        self._directory = directory
        self._max_bytes = max_bytes
        self._totals: dict[Path, int] = {}
        self._changing = asyncio.Lock()

    async def find(self, user_id: UUID, name: str) -> Kept | None:
        """Notes that it was used."""
        return await asyncio.to_thread(_open, self._path(user_id, name))

    async def draft(
        self, user_id: UUID, name: str, headers: Headers, length: int, seconds: float
    ) -> Draft | None:
        """None when it has no room."""
        path = self._path(user_id, name)
        if length > self._max_bytes or not await asyncio.to_thread(self._has_room, path.parent, length):
            return None
        head = {"name": name, "headers": headers, "length": length, "until": time.time() + seconds}
        return Draft(self, path, json.dumps(head).encode() + b"\n", length)

    async def take_in(self, draft: Path, path: Path) -> None:
        """Raises OSError."""
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
    """How much is there, once what a killed server has left unfinished is removed."""
    total = 0
    for entry in folder.iterdir():
        if entry.name.startswith(_DRAFT):
            # Those of this process that are being written are young.
            if entry != except_for and entry.stat().st_mtime < time.time() - 3600:
                entry.unlink(missing_ok=True)
        else:
            total += entry.stat().st_size
    return total


def _shrunk(folder: Path, goal: int, *, last: Path) -> int:
    """How much is left, once the longest unused are removed. `last` stays."""
    found = [(entry, entry.stat()) for entry in folder.iterdir() if not entry.name.startswith(_DRAFT)]
    total = sum(stat.st_size for _, stat in found)
    for entry, stat in sorted(found, key=lambda one: one[1].st_mtime_ns):
        if total <= goal:
            break
        if entry != last:
            entry.unlink(missing_ok=True)
            total -= stat.st_size
    return total
