"""Records, in files, which sandbox is on which sandbox host (another machine that runs sandboxes for this app
server). A record is written before the host gets any request about the sandbox.

The file is `home`/placements/<sandbox>.json. Its field `left` lists the sandbox's former hosts, which could
not be reached any more. Such a host may still have a copy of the workspace, which may differ from the current
workspace. The record of a deleted sandbox is removed when no host has any data of the sandbox.
"""

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from uuid import UUID

FOLDER = "placements"


@dataclass(frozen=True)
class Placement:
    host: str | None
    left: tuple[str, ...] = ()
    is_deleted: bool = False


class Placements:
    """The records of which sandbox is on which sandbox host (another machine that runs sandboxes). The
    records are stored in memory, and each change is written atomically to a file. All methods block the
    thread for a moment.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER
        self._known: dict[UUID, Placement] = {}
        for path in self._folder.glob("*.json"):
            found = json.loads(path.read_text())
            self._known[UUID(path.stem)] = Placement(found["host"], tuple(found["left"]), found["is_deleted"])

    def host_of(self, sandbox_id: UUID) -> str | None:
        found = self._known.get(sandbox_id)
        return found.host if found else None

    def get(self, sandbox_id: UUID) -> Placement | None:
        return self._known.get(sandbox_id)

    def deleted_on(self, host: str) -> set[UUID]:
        """Returns the ids of the deleted sandboxes whose data must still be removed from this host."""
        return {each for each, found in self._known.items() if found.is_deleted and host in found.left}

    def put(self, sandbox_id: UUID, host: str) -> None:
        """Records that the sandbox is on this host from now on, and on no other host. Other hosts may still
        have old data of the sandbox.
        """
        before = self._known.get(sandbox_id, Placement(None))
        left = {*before.left, *([before.host] if before.host else [])} - {host}
        self._write(sandbox_id, Placement(host, tuple(sorted(left))))

    def leave(self, sandbox_id: UUID) -> None:
        """Records that the sandbox's host is lost (cannot be reached), and that the sandbox is now assigned
        to no host.
        """
        if (found := self._known.get(sandbox_id)) and found.host:
            self._write(sandbox_id, Placement(None, tuple(sorted({*found.left, found.host}))))

    def mark_deleted(self, sandbox_id: UUID) -> None:
        """Records that the sandbox is deleted, so that its data is removed from all hosts."""
        self.leave(sandbox_id)
        if found := self._known.get(sandbox_id):
            self._write(sandbox_id, replace(found, is_deleted=True))

    def forget(self, sandbox_id: UUID, host: str) -> None:
        """Records that this host has no data of the sandbox any more. If no other host has data of the
        sandbox, removes the whole record.
        """
        found = self._known.get(sandbox_id)
        if found is None:
            return
        left = tuple(each for each in found.left if each != host)
        remaining = replace(found, host=None if found.host == host else found.host, left=left)
        if remaining.host or remaining.left:
            self._write(sandbox_id, remaining)
        else:
            self._known.pop(sandbox_id)
            self._path(sandbox_id).unlink(missing_ok=True)

    def _write(self, sandbox_id: UUID, placement: Placement) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = self._path(sandbox_id).with_suffix(".new")
        with unfinished.open("w") as file:
            file.write(json.dumps(asdict(placement)))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self._path(sandbox_id))
        self._known[sandbox_id] = placement

    def _path(self, sandbox_id: UUID) -> Path:
        return self._folder / f"{sandbox_id.hex}.json"
