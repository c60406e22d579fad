"""Stores the content of files before each edit on disk, so that an edit can also be undone after a
restart.
"""

import base64
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

MAX_VERSIONS_PER_FILE = 20


@dataclass(frozen=True)
class Edit:
    """One edit of a file. `before`: the content before the edit; None if the edit created the file.
    `after_sha256`: the SHA-256 digest of the content after the edit.
    """

    before: bytes | None
    after_sha256: str


class EditHistory:
    """The edits of files, stored on disk below `directory`. The edits of each file form a stack: an undo
    takes the last edit of the file from the stack.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def push(self, path: Path, before: bytes | None, after: bytes) -> None:
        entries = self._entries(path)
        number = int(entries[-1].stem) + 1 if entries else 1
        folder = self._folder(path)
        folder.mkdir(parents=True, exist_ok=True)
        record = {
            "path": str(path),
            "before": None if before is None else base64.b64encode(before).decode(),
            "after_sha256": digest(after),
        }
        (folder / f"{number:08d}.json").write_text(json.dumps(record))
        for old in entries[: max(0, len(entries) + 1 - MAX_VERSIONS_PER_FILE)]:
            old.unlink()

    def last(self, path: Path) -> Edit | None:
        entries = self._entries(path)
        if not entries:
            return None
        record = json.loads(entries[-1].read_text())
        before = None if record["before"] is None else base64.b64decode(record["before"])
        return Edit(before, record["after_sha256"])

    def drop_last(self, path: Path) -> None:
        self._entries(path)[-1].unlink()

    def _entries(self, path: Path) -> list[Path]:
        return sorted(self._folder(path).glob("*.json"))

    def _folder(self, path: Path) -> Path:
        return self._directory / hashlib.sha256(bytes(path)).hexdigest()[:32]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
