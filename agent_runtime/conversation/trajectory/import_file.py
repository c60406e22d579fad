"""Imports a conversation from a file that this server or another program has exported."""

import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any
from uuid import UUID

import orjson
from pydantic import ValidationError

from agent_runtime.agent.agent import Agent
from agent_runtime.conversation.event_log.log import EventLog, Record
from agent_runtime.conversation.event_log.model_input_cursor import ModelInputCursor
from agent_runtime.conversation.event_log.spec_signature import UNSIGNED, SpecSigner
from agent_runtime.conversation.spec import Spec
from agent_runtime.conversation.trajectory.export_zip import EVENT, META, TASKS, is_zip
from agent_runtime.conversation.trajectory.import_atif import Trajectory, events_of
from agent_runtime.events.base import Event, encode
from agent_runtime.events.union import parse_event
from agent_runtime.wire import StartConversationRequest
from agent_runtime.workspace import private_tree
from agent_runtime.workspace.users import server_files

PAGE = 500
MAX_FILES = 1_000_000
MAX_EVENT_BYTES = 32 * 1024 * 1024
MAX_TOTAL_BYTES = 1024 * 1024 * 1024
MAX_DOCUMENT_BYTES = 256 * 1024 * 1024
"""The maximum size of a JSON document to import. There is a limit because the whole document is read into
memory.
"""


class NotATrajectoryError(Exception):
    """The error that is raised when the file to import is not an exported conversation, or is incomplete. The
    text of the error says what is wrong.
    """


@dataclass(frozen=True)
class Wishes:
    """The values that a user chooses for an imported conversation. `conversation_id`: the id of the new
    conversation. `agent`: the agent's configuration. `working_dir`: the agent's working directory. If `agent`
    or `title` is None, the value in the imported file is used.
    """

    conversation_id: UUID
    agent: dict[str, Any] | None
    working_dir: str
    title: str | None


def receive(file: IO[bytes], directory: Path, wishes: Wishes, signer: SpecSigner = UNSIGNED) -> None:
    """Imports an exported conversation: writes its events to a log in a new directory. Raises
    NotATrajectoryError if the file is not valid. After any error, the directory is removed.

    The function blocks for a time that grows with the size of the file, so call it in a thread. `wishes`: the
    id, agent, directory and title that the user chose. `signer`: signs the stored specification (the data
    with which the conversation was created).
    """
    start = file.read(4)
    file.seek(0)
    try:
        if is_zip(start):
            _receive_zip(file, directory, wishes, signer)
        else:
            _receive_document(file, directory, wishes, signer)
    except ValidationError as error:
        _give_up(directory)
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise NotATrajectoryError(f"{where}: {first['msg']}") from error
    except (zipfile.BadZipFile, orjson.JSONDecodeError, KeyError) as error:
        _give_up(directory)
        raise NotATrajectoryError(f"The file cannot be read: {error}") from error
    except BaseException:
        _give_up(directory)
        raise


def _give_up(directory: Path) -> None:
    with suppress(OSError):
        private_tree.remove(directory)


def _receive_zip(file: IO[bytes], directory: Path, wishes: Wishes, signer: SpecSigner) -> None:
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_FILES or sum(one.file_size for one in entries) > MAX_TOTAL_BYTES:
            raise NotATrajectoryError("The file is too large.")
        meta = orjson.loads(_content(archive, archive.getinfo(META)))
        if not isinstance(meta, dict):
            raise NotATrajectoryError(f"{META} is not a JSON object.")
        numbered = [(int(match[1]), one) for one in entries if (match := EVENT.fullmatch(one.filename))]
        found = (_content(archive, one) for _, one in sorted(numbered, key=lambda pair: pair[0]))
        events = (_parsed(body) for body in found)
        _write(directory, _spec(meta, wishes), signer, _records(events))
        # Only the task list is copied, to a fixed path. Other paths in the zip file may lead elsewhere.
        if TASKS in archive.namelist():
            tasks = _content(archive, archive.getinfo(TASKS))
            with server_files():
                (directory / TASKS).write_bytes(tasks)


def _receive_document(file: IO[bytes], directory: Path, wishes: Wishes, signer: SpecSigner) -> None:
    body = file.read(MAX_DOCUMENT_BYTES + 1)
    if len(body) > MAX_DOCUMENT_BYTES:
        raise NotATrajectoryError("The document is too large.")
    trajectory = Trajectory.model_validate_json(body)
    model = trajectory.agent.model_name or "unknown"
    meta = {"agent": {"llm": {"model": model if "/" in model else f"openai/{model}"}}}
    _write(directory, _spec(meta, wishes), signer, _records(_stamped(events_of(trajectory))))


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    # The sizes that a zip states may be wrong. So the data is read only up to the limit.
    with archive.open(entry) as source:
        content = source.read(MAX_EVENT_BYTES + 1)
    if len(content) > MAX_EVENT_BYTES:
        raise NotATrajectoryError(f"{entry.filename[:200]} is too large.")
    return content


def _spec(meta: dict[str, Any], wishes: Wishes) -> Spec:
    given = {key: value for key, value in meta.items() if key in StartConversationRequest.model_fields}
    request = StartConversationRequest.model_validate(
        {
            **given,
            "agent": wishes.agent or meta.get("agent"),
            "workspace": {"working_dir": wishes.working_dir},
            "conversation_id": wishes.conversation_id,
            "title": wishes.title or meta.get("title"),
            "initial_message": None,
            "autotitle": False,
        }
    )
    agent = Agent.model_validate(request.agent)
    Path(wishes.working_dir).mkdir(parents=True, exist_ok=True)
    return Spec.of(wishes.conversation_id, request, agent)


def _write(directory: Path, spec: Spec, signer: SpecSigner, records: Iterable[Record]) -> None:
    log = EventLog(directory, create=True, signer=signer)
    try:
        rest = iter(records)
        while page := list(islice(rest, PAGE)):
            log.append(page)
        log.set_spec(spec.model_dump_json(), name=spec.id.hex)
    finally:
        log.close()


def _parsed(body: bytes) -> Event:
    event: Event = parse_event(body)
    return event


def _stamped(events: Iterable[Event]) -> Iterator[Event]:
    parent, earliest = None, ""
    for event in events:
        stamped = event.stamped(parent_id=parent, not_before=earliest)
        parent, earliest = stamped.id, stamped.timestamp
        yield stamped


def _records(events: Iterable[Event]) -> Iterator[Record]:
    """Yields the events as records for a log, with the positions 1, 2, 3 … Raises NotATrajectoryError if two
    events have the same id.
    """
    known: set[str] = set()
    seen = ModelInputCursor()
    for seq, event in enumerate(events, start=1):
        if event.id in known:
            raise NotATrajectoryError(f"The event {event.id} occurs twice.")
        known.add(event.id)
        kind = str(getattr(event, "kind", ""))
        seen_seq = seen.by(event, seq)
        yield Record(seq, event.id, kind, event.source, event.timestamp, seen_seq, encode(event))
