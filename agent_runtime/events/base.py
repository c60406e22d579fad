"""The common base class of all events, and the functions that encode events as JSON."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Self
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

Source = Literal["agent", "user", "environment", "hook"]

JsonObject = dict[str, Any]


def now() -> str:
    """Returns the current local time in the format of an event's timestamp: without a time zone, and always
    with microseconds. Because all timestamps have this format, they can be sorted as text.
    """
    return datetime.now().astimezone().replace(tzinfo=None).isoformat(timespec="microseconds")


def seconds_since(timestamp: str) -> float:
    """Returns how many seconds have passed since an event's timestamp, by the clock of this machine."""
    return (datetime.now() - datetime.fromisoformat(timestamp)).total_seconds()  # noqa: DTZ005 (as `now`)


def new_id() -> str:
    return str(uuid4())


class Event(BaseModel):
    """The base class of events. An event is one entry in the log of a conversation, and cannot be changed.
    `timestamp`: when the event occurred. `parent_id`: the id of the event before it in the chat; None for the
    first event. Before an event is added to a log, the method `stamped` sets both fields to their final
    values.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str = Field(default_factory=new_id, min_length=1, max_length=128)
    timestamp: str = Field(default_factory=now)
    source: Source
    parent_id: str | None = None

    def stamped(self, *, parent_id: str | None, not_before: str) -> Self:
        """Returns a copy of the event in the form in which it is added to a log. The copy has the given
        `parent_id`, and a timestamp that is not earlier than `not_before`, the timestamp of the previous
        event.
        """
        stamp: Mapping[str, Any] = {"timestamp": max(self.timestamp, not_before), "parent_id": parent_id}
        return self.model_copy(update=stamp)


def encode(event: Event) -> bytes:
    """Returns the event as JSON, in the form in which it is stored and sent: compact, without null fields."""
    return event.__pydantic_serializer__.to_json(event, exclude_none=True)
