"""Streams the events of a conversation to one reader: first the stored events after a position, then new
events as they occur.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log import frames
from agent_runtime.conversation.event_log.frames import EventFrame
from agent_runtime.events.state import ConversationStateUpdateEvent

PAGE_EVENTS = 200
PAGE_BYTES = 1024 * 1024
MAX_WAITING_FRAMES = 10_000
MAX_WAITING_BYTES = 16 * 1024 * 1024


class SlowConsumerError(Exception):
    """The error that ends the event stream of a reader that reads too slowly, so that its queue of events is
    full. The reader may connect again and continue after the last event that it got.
    """


class EndedError(Exception):
    """The error that ends an event stream because the conversation was closed."""


async def follow(
    conversation: ConversationEngine,
    *,
    after_seq: int,
    known_state: ConversationStateUpdateEvent | None = None,
) -> AsyncGenerator[EventFrame, None]:
    """Yields all frames (messages to clients) of a conversation after the position `after_seq`, without gaps
    or repetitions. First come the stored events, then the full state and the output of running tool calls,
    then new frames as they are published.

    `known_state`: the full state of the conversation that the reader already has; None if it has none. If
    this state is still current and there are no stored events to send, the state is not sent again. Raises
    SlowConsumerError if the reader is too slow. Raises EndedError if the conversation is closed. The caller
    must close the iterator to end its subscription.
    """
    log = conversation.log
    if after_seq < log.last_seq:
        known_state = None  # stored events set earlier states again
    while after_seq < log.last_seq and not conversation.is_closed:
        for record in log.page(after_seq=after_seq, limit=PAGE_EVENTS, max_bytes=PAGE_BYTES):
            yield frames.durable(record.seq, record.body)
            after_seq = record.seq
    if conversation.is_closed:
        raise EndedError
    # Nothing is awaited between the look at the log's end and this subscription.
    live = _Listener(conversation)
    try:
        # A run may end while earlier frames are read. Without this frame, the reader would miss the end.
        now = conversation.run_context.full_state()
        if known_state is None or known_state.value != now.value:
            yield frames.transient(now)
        if printed := conversation.run_context.live.now():
            yield frames.output(printed)
        while True:
            yield await live.next()
    finally:
        live.stop()


class _Listener:
    """A queue of limited size that collects the frames (messages to clients) of a conversation for one
    reader. If the reader reads so slowly that the queue becomes full, the reader is disconnected.
    """

    def __init__(self, conversation: ConversationEngine) -> None:
        self._waiting: deque[EventFrame] = deque()
        self._waiting_bytes = 0
        self._has_lost = False
        self._wakeup = asyncio.Event()
        self.stop = conversation.subscribe(self._take)

    async def next(self) -> EventFrame:
        while not self._waiting:
            self._wakeup.clear()
            await self._wakeup.wait()
        frame = self._waiting.popleft()
        self._waiting_bytes -= len(frame.wire)
        if frame is frames.END:
            raise EndedError
        if self._has_lost:
            raise SlowConsumerError
        return frame

    @property
    def _is_overfull(self) -> bool:
        return len(self._waiting) > MAX_WAITING_FRAMES or self._waiting_bytes > MAX_WAITING_BYTES

    def _take(self, frame: EventFrame) -> None:
        # After one frame is lost, no further frames are kept. The reader gets the error when it asks for the
        # next frame.
        self._has_lost = self._has_lost or self._is_overfull
        if not self._has_lost or frame is frames.END:
            self._waiting.append(frame)
            self._waiting_bytes += len(frame.wire)
        self._wakeup.set()
