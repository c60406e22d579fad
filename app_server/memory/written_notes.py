"""Finds the tool calls with which agents write memory notes, in the events that sandboxes report. Validates
the events, because sandboxes are not trusted. Does no I/O.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from app_server.memory.schemas import NoteName, NoteText, NoteTitle


class MemoryWrite(BaseModel):
    """The arguments of one call of the tool `memory_write`, with which an agent creates, updates or deletes a
    memory note. A memory note is a text about the repository for later conversations.
    """

    command: Literal["create", "update", "delete"]
    name: NoteName
    title: NoteTitle | None = None
    text: NoteText | None = None


def succeeded(event: Mapping[str, Any]) -> str | None:
    """Returns the id of the action event whose tool call has written or deleted a memory note. Returns None
    if `event` does not report that such a call was successful.
    """
    match event:
        case {
            "kind": "ObservationEvent",
            "tool_name": "memory_write",
            "action_id": str(action_id),
            "observation": {"is_error": False},
        }:
            return action_id
        case _:
            return None


def written_by(call: Mapping[str, Any]) -> MemoryWrite | None:
    """Returns the arguments of an agent's tool call that writes or deletes a memory note. `call`: an action
    event.

    Returns None if the event is not a call of the tool `memory_write`, or if the arguments are not valid for
    a note.
    """
    match call:
        case {"kind": "ActionEvent", "tool_name": "memory_write", "action": {"data": dict(data)}}:
            try:
                return MemoryWrite.model_validate(data)
            except ValidationError:
                return None
        case _:
            return None
