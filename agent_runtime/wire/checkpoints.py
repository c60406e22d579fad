"""Snapshots of a conversation's files, and going back to them."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, Field, model_validator


class CheckpointKind(StrEnum):
    """When it was made.

    turn: before the agent began to work on a message of the user. end: when it had ended. edits: before it
    went on without a new message, after others had changed files. rewind: before files or chat went back.
    rewound: after that.
    """

    TURN = "turn"
    END = "end"
    EDITS = "edits"
    REWIND = "rewind"
    REWOUND = "rewound"


class CheckpointInfo(BaseModel):
    """seq: of the log's last event then. event_id: the message that began the turn.

    skipped: files that are not in it, and that no rewind touches.
    """

    id: int
    kind: CheckpointKind
    seq: int
    event_id: str | None = None
    created_at: datetime
    skipped: list[str] = Field(default_factory=list)


class CheckpointList(BaseModel):
    """Oldest first. unavailable: `{code, detail}` of why the last one could not be made, or null."""

    checkpoints: list[CheckpointInfo]
    unavailable: dict[str, str] | None = None


class CheckpointChange(BaseModel):
    status: Literal["ADDED", "UPDATED", "DELETED"]
    path: str


class CheckpointDiff(BaseModel):
    """What has become of the files since a checkpoint: what a rewind to it would undo.

    patch: a unified diff; null when it is too large. edited: those among the files that the agent has not
    changed, or not alone; a rewind refuses to touch them. blocked: files that cannot be put back, as
    something that is in no checkpoint is in their place.
    """

    files: list[CheckpointChange]
    patch: str | None
    edited: list[str]
    blocked: list[str]


class RewindRequest(BaseModel):
    """What goes back. on_edits: `refuse` if files are concerned that the user has edited, or `keep` these."""

    files: bool = True
    chat: bool = True
    on_edits: Literal["refuse", "keep"] = "refuse"

    @model_validator(mode="after")
    def _does_something(self) -> "RewindRequest":
        if not (self.files or self.chat):
            raise ValueError("neither files nor chat are to go back")
        return self


class RewindResult(BaseModel):
    """undo: the checkpoint that was made before, to which one can go back again. kept: files left alone."""

    undo: int
    files: list[CheckpointChange]
    kept: list[str]
