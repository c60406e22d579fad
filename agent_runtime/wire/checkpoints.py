"""Checkpoints: snapshots of a conversation's workspace files, and requests to go back to one."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, Field, model_validator


class CheckpointKind(StrEnum):
    """The moment at which a checkpoint was made.

    turn: before the agent began to work on a message of the user.
    end: after the agent ended that work.
    edits: before the agent went on without a new message, after others had changed files.
    rewind: before a rewind of files or chat.
    rewound: after a rewind.
    """

    TURN = "turn"
    END = "end"
    EDITS = "edits"
    REWIND = "rewind"
    REWOUND = "rewound"


class CheckpointInfo(BaseModel):
    """One checkpoint.

    seq: the position of the last event in the log when the checkpoint was made.
    event_id: the id of the message that began the turn.
    skipped: files that the checkpoint does not contain. No rewind touches them.
    """

    id: int
    kind: CheckpointKind
    seq: int
    event_id: str | None = None
    created_at: datetime
    skipped: list[str] = Field(default_factory=list)


class CheckpointList(BaseModel):
    """The checkpoints, oldest first.

    unavailable: `{code, detail}` of the reason why the last checkpoint could not be made; null if it was
    made.
    """

    checkpoints: list[CheckpointInfo]
    unavailable: dict[str, str] | None = None


class CheckpointChange(BaseModel):
    status: Literal["ADDED", "UPDATED", "DELETED"]
    path: str


class CheckpointDiff(BaseModel):
    """How the files have changed since a checkpoint: the changes that a rewind to it would undo.

    patch: a unified diff; null if it is too large.
    edited: the changed files that others than the agent have changed, alone or besides the agent. By default,
    a rewind is refused if there are any.
    blocked: files that cannot be restored, because something that no checkpoint contains is in their place.
    """

    files: list[CheckpointChange]
    patch: str | None
    edited: list[str]
    blocked: list[str]


class RewindRequest(BaseModel):
    """What to rewind: files, chat or both.

    on_edits: `refuse` refuses the rewind if it would change files that the user has edited; `keep` leaves
    these files as they are.
    """

    files: bool = True
    chat: bool = True
    on_edits: Literal["refuse", "keep"] = "refuse"

    @model_validator(mode="after")
    def _does_something(self) -> "RewindRequest":
        if not (self.files or self.chat):
            raise ValueError("neither files nor chat are to go back")
        return self


class RewindResult(BaseModel):
    """The result of a rewind.

    undo: the id of the checkpoint that was made before the rewind; a rewind to it undoes this one.
    kept: files that were left as they are.
    """

    undo: int
    files: list[CheckpointChange]
    kept: list[str]
