"""Finds the notes that an agent has written, in the events that its sandbox reports. The events are not
trusted. Does no I/O.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from app_server.memory.schemas import NoteName, NoteText, NoteTitle


class MemoryWrite(BaseModel):
    """The arguments of one successful call of the tool with which an agent writes notes."""

    command: Literal["create", "update", "delete"]
    name: NoteName
    title: NoteTitle | None = None
    text: NoteText | None = None


def succeeded(event: Mapping[str, Any]) -> str | None:
    """Returns the id of the action event if this event reports that the agent wrote or deleted a note.
    Otherwise returns None.
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
    """Returns the note that this tool call writes or deletes. Returns None if the event is not a call of the
    notes tool, or if its arguments are not valid for a note.
    """
    match call:
        case {"kind": "ActionEvent", "tool_name": "memory_write", "action": {"data": dict(data)}}:
            try:
                return MemoryWrite.model_validate(data)
            except ValidationError:
                return None
        case _:
            return None
