"""The frames of a conversation's stream (docs/protocol.md, section 2)."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict  # Pydantic needs this one before Python 3.12


class SyncFrame(TypedDict):
    """All stored events after `from_seq` were sent. The log ends at `through_seq` at this moment."""

    type: Literal["sync"]
    from_seq: int
    through_seq: int


class DurableFrame(TypedDict):
    """An event of the log at its position."""

    type: Literal["durable"]
    seq: int
    event: dict[str, Any]


class TransientFrame(TypedDict):
    """An event that is never logged."""

    type: Literal["transient"]
    event: dict[str, Any]


class ItemStartedFrame(TypedDict):
    """A reply begins to arrive. `item_id`: the id of the event that ends it."""

    type: Literal["item_started"]
    item_id: str
    attempt: int


class DeltaFrame(TypedDict):
    """A piece of a reply. `order` counts 0, 1, 2 … within an attempt."""

    type: Literal["delta"]
    item_id: str
    attempt: int
    order: int
    kind: Literal["text", "reasoning"]
    content: str


class PendingRetry(TypedDict):
    """Why a model could not be asked, which model is asked next, and the seconds until then, counted from
    the arrival of the frame.
    """

    code: str
    detail: str
    model: str
    wait_seconds: float
    next_attempt: int
    max_attempts: int


class ItemAbortedFrame(TypedDict):
    """The attempt ended without an event. `retry`: the next attempt, if there is one."""

    type: Literal["item_aborted"]
    item_id: str
    attempt: int
    reason: str
    retry: NotRequired[PendingRetry]


class CallOutput(TypedDict):
    """The end of what a running call has printed.

    styles: first character, the character after the last one, and how a terminal draws them, such as `1;31`.
    """

    action_id: str
    text: str
    styles: list[tuple[int, int, str]]


class OutputFrame(TypedDict):
    """The output of all running calls. The next frame of this type replaces it."""

    type: Literal["output"]
    outputs: list[CallOutput]


class ErrorFrame(TypedDict):
    """The stream ends, or a frame of the client was refused."""

    type: Literal["error"]
    code: str
    detail: str


AnyFrame = (
    SyncFrame
    | DurableFrame
    | TransientFrame
    | ItemStartedFrame
    | DeltaFrame
    | ItemAbortedFrame
    | OutputFrame
    | ErrorFrame
)
