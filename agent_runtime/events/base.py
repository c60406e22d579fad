"""The common base of all events, with their stamping and encoding."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Self
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

Source = Literal["agent", "user", "environment", "hook"]

JsonObject = dict[str, Any]


def now() -> str:
    """Returns the current time as on the wire: naive local time, always with microseconds, so that it sorts
    as text.
    """
    return datetime.now().astimezone().replace(tzinfo=None).isoformat(timespec="microseconds")


def seconds_since(timestamp: str) -> float:
    """Returns the seconds since that time, by the clock of this machine."""
    return (datetime.now() - datetime.fromisoformat(timestamp)).total_seconds()  # noqa: DTZ005 (as `now`)


def new_id() -> str:
    return str(uuid4())


class Event(BaseModel):
    """One immutable fact of a conversation. `timestamp` and `parent_id` are set when it is
    appended to a log.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str = Field(default_factory=new_id, min_length=1, max_length=128)
    timestamp: str = Field(default_factory=now)
    source: Source
    parent_id: str | None = None

    def stamped(self, *, parent_id: str | None, not_before: str) -> Self:
        """Returns the event for a log: with this `parent_id`, and a timestamp that is not earlier than its
        predecessor's.
        """
        stamp: Mapping[str, Any] = {"timestamp": max(self.timestamp, not_before), "parent_id": parent_id}
        return self.model_copy(update=stamp)


def encode(event: Event) -> bytes:
    """Returns the event as it is stored and sent: compact JSON without null fields."""
    return event.__pydantic_serializer__.to_json(event, exclude_none=True)
