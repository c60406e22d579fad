"""The frames that a conversation publishes, as a client receives them (docs/protocol.md, section 2)."""

from dataclasses import dataclass
from typing import Any, Literal

import orjson

from agent_runtime.events.union import AnyEvent, validate_event


@dataclass(frozen=True)
class StreamStarted:
    """A reply begins to arrive. `item_id`: the id of the event that will end the stream, the first event
    of the complete reply.
    """

    item_id: str
    attempt: int


@dataclass(frozen=True)
class StreamDelta:
    """A piece of a reply. `order` counts 0, 1, 2 … within an attempt."""

    item_id: str
    attempt: int
    order: int
    kind: Literal["text", "reasoning"]
    content: str


@dataclass(frozen=True)
class StreamAborted:
    """The attempt ended without an event. `retry`: the next attempt, if there is one."""

    item_id: str
    attempt: int
    reason: str
    retry: dict[str, Any] | None = None


StreamEvent = StreamStarted | StreamDelta | StreamAborted


@dataclass(frozen=True)
class Sync:
    """The connection is ready. The log ends at `through_seq` at this moment."""

    through_seq: int


@dataclass(frozen=True)
class Durable:
    seq: int
    event: AnyEvent


@dataclass(frozen=True)
class StateChanged:
    """The state of the conversation has changed. A run sends such a frame last, at its end."""


Heard = Sync | Durable | StateChanged | StreamEvent

_STREAM: dict[str, type[StreamEvent]] = {
    "item_started": StreamStarted,
    "delta": StreamDelta,
    "item_aborted": StreamAborted,
}


def parse_frame(wire: bytes | str) -> Heard | None:
    """Returns the frame. Returns None for a type that this version of the program does not know."""
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
