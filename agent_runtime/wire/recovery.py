"""A log that came out of a backup is brought to where everybody else knows it to be."""

from datetime import datetime

from pydantic import BaseModel, Field

from agent_runtime.events.base import JsonObject

MAX_MISSING_EVENTS = 500


class Restored(BaseModel):
    """Files that are older than the log. id: of the backup they came from. as_of: None if they begin anew.

    lost_events: how many events came after it.
    """

    id: str = Field(min_length=1, max_length=64)
    as_of: datetime | None = None
    lost_events: int = Field(ge=0)


class CatchUpRequest(BaseModel):
    """What follows position `after_seq` of a log, whose event there has the id `after_id` (None at 0).

    restored: with the last ones, if the agent is to be told what its files are.
    """

    after_seq: int = Field(ge=0)
    after_id: str | None = None
    events: list[JsonObject] = Field(max_length=MAX_MISSING_EVENTS)
    restored: Restored | None = None


class LogPosition(BaseModel):
    """How far a log has come."""

    last_seq: int = Field(ge=0)
