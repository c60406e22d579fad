"""The models of checkpoints (snapshots of the files in a conversation's workspace) and of requests to reset a
conversation to a checkpoint.
"""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, Field, model_validator


class CheckpointKind(StrEnum):
    """The reason why a checkpoint was made.

    `turn`: just before the agent began to work on a message of the user. `end`: after the agent had finished
    the work on that message. `edits`: just before the agent continued without a new message, because the user
    or a program had changed files in the meantime. `rewind`: just before files or chat were reset to an
    earlier checkpoint. `rewound`: just after such a reset.
    """

    TURN = "turn"
    END = "end"
    EDITS = "edits"
    REWIND = "rewind"
    REWOUND = "rewound"


class CheckpointInfo(BaseModel):
    """The description of one checkpoint, without its files.

    `seq`: the position of the last event in the log when the checkpoint was made. `event_id`: the id of the
    user's message on which the agent worked; null if there is none. `skipped`: files that the checkpoint does
    not contain. No rewind (a reset to a checkpoint) changes these files.
    """

    id: int
    kind: CheckpointKind
    seq: int
    event_id: str | None = None
    created_at: datetime
    skipped: list[str] = Field(default_factory=list)


class CheckpointList(BaseModel):
    """The reply of GET /api/conversations/{id}/checkpoints: the checkpoints, oldest first.

    `unavailable`: the reason why the last checkpoint could not be made, as `{code, detail}`; null if the last
    checkpoint was made.
    """

    checkpoints: list[CheckpointInfo]
    unavailable: dict[str, str] | None = None


class CheckpointChange(BaseModel):
    status: Literal["ADDED", "UPDATED", "DELETED"]
    path: str


class CheckpointDiff(BaseModel):
    """The changes of the files since a checkpoint. A rewind (a reset) to this checkpoint would undo these
    changes.

    `patch`: the changes as a unified diff; null if the diff is too large. `edited`: the changed files that
    the user or another program has edited, even if the agent has edited them, too. By default, a rewind is
    refused if there are such files. `blocked`: files of the checkpoint that a rewind cannot restore, because
    something else now has their path. This is a file or directory that the rewind does not remove. For
    example, checkpoints do not contain it, or the user has edited it.
    """

    files: list[CheckpointChange]
    patch: str | None
    edited: list[str]
    blocked: list[str]


class RewindRequest(BaseModel):
    """The request body of POST /api/conversations/{id}/checkpoints/{checkpoint_id}/rewind: whether the files,
    the chat or both are reset to the checkpoint.

    `on_edits`: `refuse` refuses the rewind if it would change files that the user has edited; `keep` does not
    change these files.
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
    """The reply to a rewind (a reset to a checkpoint).

    `undo`: the id of the checkpoint that was made just before the rewind. A rewind to that checkpoint undoes
    this rewind. `files`: the files that were changed. `kept`: the files that were not changed, because the
    user has edited them or because they cannot be restored.
    """

    undo: int
    files: list[CheckpointChange]
    kept: list[str]
