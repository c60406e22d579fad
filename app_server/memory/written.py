"""What a sandbox says that its agent has noted. Pure; nothing in it is trusted."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from app_server.memory.schemas import NoteName, NoteText, NoteTitle


class MemoryWrite(BaseModel):
    """One successful call of the tool."""

    command: Literal["create", "update", "delete"]
    name: NoteName
    title: NoteTitle | None = None
    text: NoteText | None = None


def succeeded(event: Mapping[str, Any]) -> str | None:
    """The id of the call's event, if this event says that a note was written or deleted."""
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
    """What the call was for; None if it is none, or asks for what no note may be."""
    match call:
        case {"kind": "ActionEvent", "tool_name": "memory_write", "action": {"data": dict(data)}}:
            try:
                return MemoryWrite.model_validate(data)
            except ValidationError:
                return None
        case _:
            return None
