"""Finds the notes that an agent has written, in the events of its sandbox. Pure. The events are not
trusted.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from app_server.memory.schemas import NoteName, NoteText, NoteTitle


class MemoryWrite(BaseModel):
    """One successful call of the tool that writes notes."""

    command: Literal["create", "update", "delete"]
    name: NoteName
    title: NoteTitle | None = None
    text: NoteText | None = None


def succeeded(event: Mapping[str, Any]) -> str | None:
    """Returns the id of the call's event if this event reports that a note was written or deleted. Otherwise
    returns None.
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
    """Returns what the call writes or deletes. Returns None if the event is not such a call, or if its data
    are not valid for a note.
    """
    match call:
        case {"kind": "ActionEvent", "tool_name": "memory_write", "action": {"data": dict(data)}}:
            try:
                return MemoryWrite.model_validate(data)
            except ValidationError:
                return None
        case _:
            return None
