"""Exports a conversation as a zip file with one JSON file per event. The zip file is sent to the client while
it is being written.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import orjson

from agent_runtime.conversation.event_log.list_entry import read_info
from agent_runtime.conversation.event_log.log import LogMissingError, reading
from agent_runtime.conversation.spec import Spec
from agent_runtime.streamed_zip import CHUNK_BYTES, StreamedZip

TASKS = "TASKS.json"
META = "meta.json"
STATE = "base_state.json"
EVENT = re.compile(r"events/event-(\d+)-[^/]+\.json")
KEPT_FILES = (TASKS, "observations/*")


def zip_chunks(directory: Path) -> Iterator[bytes]:
    """Yields the exported zip file of the conversation in this directory piece by piece. Raises
    LogMissingError if there is no conversation.
    """
    info = read_info(directory)
    zipped = StreamedZip()
    with reading(directory) as log:
        stored = log.get_meta("spec")
        if stored is None:
            raise LogMissingError(str(directory))
        zipped.add(META, _meta(Spec.model_validate_json(stored), info.title))
        zipped.add(STATE, info.model_dump_json(indent=1))
        for position, record in enumerate(log.records()):
            name = re.sub(r"[^\w.-]", "_", record.id)
            zipped.add(f"events/event-{position:05d}-{name}.json", record.body)
            yield from zipped.take()
        for file in _files_to_export(directory):
            with (
                zipped.archive.open(str(file.relative_to(directory)), "w") as entry,
                file.open("rb") as source,
            ):
                while piece := source.read(CHUNK_BYTES):
                    entry.write(piece)
                    yield from zipped.take()
    yield from zipped.close()


def is_zip(start: bytes) -> bool:
    return start.startswith(b"PK\x03\x04")


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


def _files_to_export(directory: Path) -> Iterator[Path]:
    for pattern in KEPT_FILES:
        yield from sorted(
            file for file in directory.glob(pattern) if file.is_file() and not file.is_symlink()
        )
