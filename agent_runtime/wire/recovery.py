"""Brings a log that was restored from a backup up to the position
that other logs of the conversation have reached.
"""

from datetime import datetime

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


class CatchUpRequest(BaseModel):
    """The events that follow position `after_seq` of a log. `after_id` is the id of the event there (null at
    0).

    restored: sent with the last events if the agent must be told from when its files are.
    """

    after_seq: int = Field(ge=0)
    after_id: str | None = None
    events: list[JsonObject] = Field(max_length=MAX_MISSING_EVENTS)
    restored: Restored | None = None


class LogPosition(BaseModel):
    """The last position of a log."""

    last_seq: int = Field(ge=0)
