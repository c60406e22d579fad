"""The frames that a conversation publishes. A frame is one message to clients, for example an event of the
log. Each frame is encoded as JSON only one time, for all readers (docs/protocol.md, section 2).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from agent_runtime.events.base import Event, encode
from agent_runtime.events.message import StreamingDeltaEvent
from agent_runtime.llm.messages import PieceKind, Retry
from agent_runtime.tools.live_output import OutputTail
from agent_runtime.wire.frames import (
    AnyFrame,
    CallOutput,
    DeltaFrame,
    ErrorFrame,
    ItemAbortedFrame,
    ItemStartedFrame,
    OutputFrame,
    PendingRetry,
    SyncFrame,
)


@dataclass(frozen=True)
class EventFrame:
    """One frame: a message that a conversation publishes to its readers, for example an event of the log.

    `wire`: the frame as JSON. `event`: the event inside the frame as JSON, for readers that want only events;
    None if the frame contains no event. `seq`: the event's position in the log; None for a frame that is not
    logged.

    `is_reported`: whether the agent server also sends the frame to the app server. `is_whole`: True for a
    frame with the complete current output of all running tool calls. A reader that has such a frame does not
    need the earlier ones.
    """

    wire: bytes
    event: bytes | None = None
    seq: int | None = None
    is_reported: bool = True
    is_whole: bool = False


END = EventFrame(b"", is_reported=False)
"""The last frame of a conversation. It is never sent to clients. It only tells the readers of the frames in
this process that the conversation was closed.
"""


def durable(seq: int, event: bytes) -> EventFrame:
    return EventFrame(b'{"type":"durable","seq":%d,"event":%b}' % (seq, event), event, seq)


def transient(event: Event) -> EventFrame:
    encoded = encode(event)
    return EventFrame(b'{"type":"transient","event":%b}' % encoded, encoded, is_reported=False)


def item_started(item_id: str, attempt: int) -> EventFrame:
    return _frame(ItemStartedFrame(type="item_started", item_id=item_id, attempt=attempt))


def delta(item_id: str, attempt: int, order: int, kind: PieceKind, content: str) -> EventFrame:
    body = DeltaFrame(type="delta", item_id=item_id, attempt=attempt, order=order, kind=kind, content=content)
    field = "content" if kind == "text" else "reasoning_content"
    return EventFrame(orjson.dumps(body), encode(StreamingDeltaEvent.model_validate({field: content})))


def item_aborted(item_id: str, attempt: int, reason: str, retry: Retry | None = None) -> EventFrame:
    body = ItemAbortedFrame(type="item_aborted", item_id=item_id, attempt=attempt, reason=reason)
    if retry is not None:
        body["retry"] = PendingRetry(
            code=retry.code,
            detail=retry.detail,
            model=retry.model,
            wait_seconds=retry.wait_seconds,
            next_attempt=retry.next_attempt,
            max_attempts=retry.max_attempts,
        )
    return _frame(body)


def output(shown: Mapping[str, OutputTail]) -> EventFrame:
    """Returns the frame (a message to clients) that shows the current output of all running tool calls.
    `shown`: the output of each call, by the id of the call's event.
    """
    outputs = [
        CallOutput(action_id=action_id, text=one.text, styles=list(one.styles))
        for action_id, one in shown.items()
    ]
    return EventFrame(orjson.dumps(OutputFrame(type="output", outputs=outputs)), is_whole=True)


def sync(from_seq: int, through_seq: int) -> EventFrame:
    return _frame(SyncFrame(type="sync", from_seq=from_seq, through_seq=through_seq))


def error(code: str, detail: str) -> EventFrame:
    return _frame(ErrorFrame(type="error", code=code, detail=detail))


def _frame(body: AnyFrame) -> EventFrame:
    return EventFrame(orjson.dumps(body))
