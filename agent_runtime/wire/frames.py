"""The frames (JSON messages) that the agent server sends over the WebSocket of a conversation
(docs/protocol.md, section 2).
"""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict  # Pydantic needs this one before Python 3.12


class SyncFrame(TypedDict):
    """The first frame (message) of a live stream. It gives the range of the stored events that follow: from
    the position `from_seq` to the position `through_seq` in the log. `through_seq` is 0 if the log is empty.
    """

    type: Literal["sync"]
    from_seq: int
    through_seq: int


class DurableFrame(TypedDict):
    """The frame (message of a live stream) that contains one event of the log. `seq`: the position of the
    event in the log.
    """

    type: Literal["durable"]
    seq: int
    event: dict[str, Any]


class TransientFrame(TypedDict):
    """The frame (message of a live stream) that contains one event which is never stored in the log."""

    type: Literal["transient"]
    event: dict[str, Any]


class ItemStartedFrame(TypedDict):
    """The frame (message of a live stream) which says that a reply of the model begins to arrive. `item_id`:
    the id of the event that will contain the complete reply; if the reply becomes several events, the id of
    the first one.
    """

    type: Literal["item_started"]
    item_id: str
    attempt: int


class DeltaFrame(TypedDict):
    """The frame (message of a live stream) that contains a piece of the model's reply. `order`: the number of
    the piece (0, 1, 2 …) within one attempt to get the reply.
    """

    type: Literal["delta"]
    item_id: str
    attempt: int
    order: int
    kind: Literal["text", "reasoning"]
    content: str


class PendingRetry(TypedDict):
    """The next attempt to get a reply from a model, after an attempt that failed. `code`, `detail`: why the
    last attempt failed. `model`: the model that is asked next. `wait_seconds`: how long the runtime waits
    before the next attempt, counted from the moment when the client receives this data.
    """

    code: str
    detail: str
    model: str
    wait_seconds: float
    next_attempt: int
    max_attempts: int


class ItemAbortedFrame(TypedDict):
    """The frame (message of a live stream) which says that an attempt to get a reply from the model failed.
    The event `item_id` was not created. `retry`: the next attempt; missing if there is none.
    """

    type: Literal["item_aborted"]
    item_id: str
    attempt: int
    reason: str
    retry: NotRequired[PendingRetry]


class CallOutput(TypedDict):
    """The last part of the output of a tool call that is still running.

    `styles`: the parts of the output that a terminal shows in a style. Each part is given as the index of its
    first character, the index after its last character, and the style as in ANSI codes, such as `1;31`.
    """

    action_id: str
    text: str
    styles: list[tuple[int, int, str]]


class OutputFrame(TypedDict):
    """The frame (message of a live stream) that contains the output of all running tool calls. A client
    replaces the previous frame of this type by this one.
    """

    type: Literal["output"]
    outputs: list[CallOutput]


class ErrorFrame(TypedDict):
    """The frame (message of a live stream) which says that the stream ends with an error, or that the server
    has refused a frame of the client.
    """

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
