"""The frames (messages on the WebSocket) of a conversation, as a client receives them (docs/protocol.md,
section 2).
"""

from dataclasses import dataclass
from typing import Any, Literal

import orjson

from agent_runtime.events.union import AnyEvent, validate_event


@dataclass(frozen=True)
class StreamStarted:
    """The frame (message of a live stream) which says that the pieces of a new reply of the model follow.
    `item_id`: the id that the first event of the complete reply will have. No more pieces follow after this
    event. `attempt`: the number of this attempt to get the reply from the model. A new attempt begins when a
    failed request is repeated.
    """

    item_id: str
    attempt: int


@dataclass(frozen=True)
class StreamDelta:
    """The frame (message of a live stream) that contains a piece of the model's reply. `order`: the number of
    the piece (0, 1, 2 …) within one attempt to get the reply.
    """

    item_id: str
    attempt: int
    order: int
    kind: Literal["text", "reasoning"]
    content: str


@dataclass(frozen=True)
class StreamAborted:
    """The frame (message of a live stream) which says that an attempt to get a reply from the model failed.
    The client must discard the pieces of the reply that it got from this attempt. `item_id`: the id in the
    StreamStarted frame of this reply. `retry`: describes the next attempt; None if there is no next attempt.
    """

    item_id: str
    attempt: int
    reason: str
    retry: dict[str, Any] | None = None


StreamEvent = StreamStarted | StreamDelta | StreamAborted


@dataclass(frozen=True)
class Sync:
    """The first frame (message) of a live stream. `through_seq`: the position of the last event in the log
    when this frame is sent. The stored events up to this position follow.
    """

    through_seq: int


@dataclass(frozen=True)
class Durable:
    seq: int
    event: AnyEvent


@dataclass(frozen=True)
class StateChanged:
    """The frame (message of a live stream) which says that the state of the conversation has changed. A frame
    of this kind is also the last frame of each run (the work of the agent from its start until it stops).
    """


Heard = Sync | Durable | StateChanged | StreamEvent

_STREAM: dict[str, type[StreamEvent]] = {
    "item_started": StreamStarted,
    "delta": StreamDelta,
    "item_aborted": StreamAborted,
}


def parse_frame(wire: bytes | str) -> Heard | None:
    """Decodes a frame from JSON. Returns None for a type of frame (a message to clients) that this version of
    the program does not know.
    """
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
