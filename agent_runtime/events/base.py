"""What every event has in common, and how it is stamped and encoded."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Self
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

Source = Literal["agent", "user", "environment", "hook"]

JsonObject = dict[str, Any]


def now() -> str:
    """The wire's timestamp: naive, local time, always with microseconds, so that it sorts as text."""
    return datetime.now().astimezone().replace(tzinfo=None).isoformat(timespec="microseconds")


def seconds_since(timestamp: str) -> float:
    """How long ago that was, by the clock of this machine."""
    return (datetime.now() - datetime.fromisoformat(timestamp)).total_seconds()  # noqa: DTZ005 (as `now`)


def new_id() -> str:
    return str(uuid4())


class Event(BaseModel):
    """One immutable fact of a conversation. `timestamp` and `parent_id` are settled when it is appended."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str = Field(default_factory=new_id, min_length=1, max_length=128)
    timestamp: str = Field(default_factory=now)
    source: Source
    parent_id: str | None = None

    def stamped(self, *, parent_id: str | None, not_before: str) -> Self:
        """The event as it goes into a log: after `parent_id`, and never earlier than its predecessor."""
        stamp: Mapping[str, Any] = {"timestamp": max(self.timestamp, not_before), "parent_id": parent_id}
        return self.model_copy(update=stamp)


def encode(event: Event) -> bytes:
    """The event as it is stored and sent: compact JSON, null fields left out."""
    return event.__pydantic_serializer__.to_json(event, exclude_none=True)
