"""Brings a log that was restored from a backup up to the position
that other logs of the conversation have reached.
"""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from agent_runtime.events.base import JsonObject

MAX_MISSING_EVENTS = 500


class Restored(BaseModel):
    """Tells that the workspace's files are older than the log.

    id: the backup from which the files were restored.
    as_of: the time of the files; null if the workspace starts empty.
    lost_events: the number of events after that backup.
    """

    id: str = Field(min_length=1, max_length=64)
    as_of: datetime | None = None
    lost_events: int = Field(ge=0)


class Forked(BaseModel):
    """Tells that the log is a copy of another conversation's log, and that the workspace is a copy, too.

    id: of the copy.
    conversation_id: the conversation that was copied.
    as_of: the time at which its files were copied.
    """

    id: UUID
    conversation_id: UUID
    as_of: datetime

    @property
    def message_id(self) -> str:
        """The id of the message that tells the agent about the copy. The log contains this message once."""
        return f"forked-{self.id.hex}"


class CatchUpRequest(BaseModel):
    """The events that follow position `after_seq` of a log. `after_id` is the id of the event there (null at
    0).

    restored: sent with the last events if the agent must be told how old its files are.
    forked: sent with the last events of a copied log.
    """

    after_seq: int = Field(ge=0)
    after_id: str | None = None
    events: list[JsonObject] = Field(max_length=MAX_MISSING_EVENTS)
    restored: Restored | None = None
    forked: Forked | None = None


class LogPosition(BaseModel):
    """The last position of a log."""

    last_seq: int = Field(ge=0)
