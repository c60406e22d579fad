"""What a conversation publishes, as its followers hear it (docs/protocol.md, section 2)."""

from dataclasses import dataclass
from typing import Any, Literal

import orjson

from agent_runtime.events.union import AnyEvent, validate_event


@dataclass(frozen=True)
class StreamStarted:
    """A reply begins to arrive. `item_id` is the id of the event that will end it."""

    item_id: str
    attempt: int


@dataclass(frozen=True)
class StreamDelta:
    """A piece of it; `order` counts 0, 1, 2 … within an attempt."""

    item_id: str
    attempt: int
    order: int
    kind: Literal["text", "reasoning"]
    content: str


@dataclass(frozen=True)
class StreamAborted:
    """The attempt ended without an event. retry: what comes next, if there is another."""

    item_id: str
    attempt: int
    reason: str
    retry: dict[str, Any] | None = None


StreamEvent = StreamStarted | StreamDelta | StreamAborted


@dataclass(frozen=True)
class Sync:
    """The connection stands; the log ends at `through_seq` so far."""

    through_seq: int


@dataclass(frozen=True)
class Durable:
    seq: int
    event: AnyEvent


@dataclass(frozen=True)
class StateChanged:
    """The conversation has something to say about itself. A run that ends says this last."""


Heard = Sync | Durable | StateChanged | StreamEvent

_STREAM: dict[str, type[StreamEvent]] = {
    "item_started": StreamStarted,
    "delta": StreamDelta,
    "item_aborted": StreamAborted,
}


def parse_frame(wire: bytes | str) -> Heard | None:
    """None for a type that is newer than this program."""
    frame = orjson.loads(wire)
    match frame.pop("type"):
        case "sync":
            return Sync(frame["through_seq"])
        case "durable":
            return Durable(frame["seq"], validate_event(frame["event"]))
        case "transient":
            return StateChanged()
        case str(name) if name in _STREAM:
            return _STREAM[name](**frame)
        case _:
            return None
