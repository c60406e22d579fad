"""A conversation as a zip of JSON files, one per event, written while it is read."""

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import orjson

from agent_runtime.conversation.log import LogMissingError, reading
from agent_runtime.conversation.spec import Spec
from agent_runtime.conversation.summary import read_info

META = "meta.json"
STATE = "base_state.json"
EVENT = re.compile(r"events/event-(\d+)-[^/]+\.json")
KEPT_FILES = ("TASKS.json", "observations/*")

_CHUNK = 1 << 18


def zip_chunks(directory: Path) -> Iterator[bytes]:
    """The file, piece by piece, of the log as it is now. LogMissingError when there is no conversation."""
    info = read_info(directory)
    tape = _Tape()
    with reading(directory) as log, zipfile.ZipFile(tape, "w", zipfile.ZIP_DEFLATED) as archive:
        stored = log.get_meta("spec")
        if stored is None:
            raise LogMissingError(str(directory))
        archive.writestr(META, _meta(Spec.model_validate_json(stored), info.title))
        archive.writestr(STATE, info.model_dump_json(indent=1))
        for position, record in enumerate(log.records()):
            name = re.sub(r"[^\w.-]", "_", record.id)
            archive.writestr(f"events/event-{position:05d}-{name}.json", record.body)
            yield from tape.take(_CHUNK)
        for file in _kept(directory):
            with archive.open(str(file.relative_to(directory)), "w") as entry, file.open("rb") as source:
                while piece := source.read(_CHUNK):
                    entry.write(piece)
                    yield from tape.take(_CHUNK)
    yield from tape.take(1)


def is_zip(start: bytes) -> bool:
    return start.startswith(b"PK\x03\x04")


def copy_kept(archive: zipfile.ZipFile, directory: Path, *, max_bytes: int) -> None:
    """The task list, if it is in there. Paths in the archive are never followed."""
    if "TASKS.json" in archive.namelist():
        with archive.open("TASKS.json") as source:
            (directory / "TASKS.json").write_bytes(source.read(max_bytes))


def _meta(spec: Spec, title: str | None) -> bytes:
    body = {
        **spec.request.model_dump(mode="json"),
        "id": str(spec.id),
        "title": title,
        "created_at": spec.created_at.isoformat(),
        "forked_from_conversation_id": spec.forked_from_conversation_id,
        "forked_from_event_id": spec.forked_from_event_id,
    }
    return orjson.dumps(body, option=orjson.OPT_INDENT_2)


def _kept(directory: Path) -> Iterator[Path]:
    for pattern in KEPT_FILES:
        yield from sorted(
            file for file in directory.glob(pattern) if file.is_file() and not file.is_symlink()
        )


class _Tape(io.RawIOBase):
    """What a zip file is written on when it cannot go back."""

    def __init__(self) -> None:
        self._written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._written += data
        return len(data)

    def take(self, at_least: int) -> Iterator[bytes]:
        """What was written since, if it is so much."""
        if len(self._written) >= at_least:
            yield bytes(self._written)
            self._written.clear()
