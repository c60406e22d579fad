"""Reads the data that a list of conversations shows. Only a few rows of each conversation's log are read, and
the conversations are not loaded into memory.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path

import orjson
from pydantic import TypeAdapter

from agent_runtime.conversation.event_log.fold import is_navigation
from agent_runtime.conversation.event_log.log import EventLog, LogMissingError, LogReader, Record, reading
from agent_runtime.conversation.event_log.state import State, after
from agent_runtime.conversation.info import describe, to_utc, updated_at
from agent_runtime.conversation.spec import Spec
from agent_runtime.events.state import ExecutionStatus
from agent_runtime.events.union import parse_event
from agent_runtime.wire import ConversationInfo

_KEY = "summary"
_FORMAT = [1, *(one.name for one in fields(State))]
_STATE: TypeAdapter[State] = TypeAdapter(State)


@dataclass(frozen=True)
class Entry:
    """The data of one conversation in a list of conversations. `status`: the last logged status; it is still
    `running` if a crash ended the agent's work. `acknowledged_seq`: the position of the last event that the
    app server has confirmed as received. `is_child`: whether another conversation has started this
    conversation.
    """

    created_at: datetime
    updated_at: datetime
    status: ExecutionStatus
    last_seq: int = 0
    acknowledged_seq: int = 0
    is_child: bool = False

    def at_rest(self) -> "Entry":
        """Returns a copy of the entry with the status `idle` in place of `running`. Any other status is
        copied unchanged.

        Lists of conversations show this copy for a conversation that the server has not loaded. The agent of
        such a conversation does not work. Its last logged status is `running` only if a crash, or a stop of
        the server, has ended the work.
        """
        is_cut_off = self.status is ExecutionStatus.RUNNING
        return replace(self, status=ExecutionStatus.IDLE) if is_cut_off else self


def entry_of(spec: Spec, state: State, status: ExecutionStatus) -> Entry:
    """Returns the data that a list of conversations shows about a conversation that the server has loaded.
    The data come from its specification (the data with which it was created), its state and its status, so
    the log is not read.
    """
    return Entry(spec.created_at, updated_at(spec, state.last_timestamp), status)


def save(log: EventLog, state: State) -> None:
    """Saves a summary of the conversation's state in the log file, apart from the events. The summary makes a
    list of conversations fast, because only the events after the summary must be read.
    """
    body = {"format": _FORMAT, "state": _STATE.dump_python(state, mode="json")}
    log.set_meta(_KEY, orjson.dumps(body).decode())


def read_entry(directory: Path) -> Entry:
    """Reads the data that a list of conversations shows about the conversation in this directory.

    Raises LogMissingError if there is no conversation. Raises sqlite3.DatabaseError if its log is damaged.
    """
    with reading(directory) as log:
        created_at = log.spec_field("created_at")
        if created_at is None:
            raise LogMissingError(str(directory))
        timestamp, status = log.last_timestamp(), log.last_status()
        created = datetime.fromisoformat(created_at)
        return Entry(
            created_at=created,
            updated_at=to_utc(timestamp) if timestamp else created,
            status=ExecutionStatus(status or ExecutionStatus.IDLE),
            last_seq=log.last_seq,
            acknowledged_seq=log.acknowledged_seq,
            is_child=log.spec_field("parent_conversation_id") is not None,
        )


def read_info(directory: Path) -> ConversationInfo:
    """Returns the description of the conversation in this directory without loading the whole conversation.
    Raises LogMissingError if there is no conversation. Raises sqlite3.DatabaseError if its log is damaged.
    """
    with reading(directory) as log:
        stored = log.get_meta("spec")
        if stored is None:
            raise LogMissingError(str(directory))
        spec, state = Spec.model_validate_json(stored), _read_state(log)
        secrets = orjson.loads(log.get_meta("secrets") or "{}")
    info = describe(spec, state, entry_of(spec, state, state.status).at_rest().status, directory)
    return info.model_copy(update={"secret_registry": {"secret_sources": secrets}})


def _read_state(log: LogReader) -> State:
    state = _saved_state(log)
    for record in log.records(after_seq=state.last_seq):
        event = parse_event(record.body)
        if is_navigation(event):
            state = _fold(log.branch(event.value, through_seq=record.seq))
        else:
            state = after(state, event, record.seen_seq, seq=record.seq)
    return state


def _saved_state(log: LogReader) -> State:
    saved = log.get_meta(_KEY)
    body = orjson.loads(saved) if saved else {}
    if body.get("format") != _FORMAT:
        return State()
    state = _STATE.validate_python(body["state"])
    return state if state.last_seq <= log.last_seq else State()


def _fold(records: Iterable[Record]) -> State:
    state = State()
    for record in records:
        state = after(state, parse_event(record.body), record.seen_seq, seq=record.seq)
    return state
