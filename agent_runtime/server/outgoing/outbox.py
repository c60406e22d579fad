"""The outbox sends all events of a conversation to the app server, in order. It sends events again until the
app server confirms them.

The event log is the queue. The log's field `acknowledged_seq` is the position of the last event that the app
server has confirmed, so no event is lost or repeated if one of the two servers crashes. Pieces of streamed
replies are sent only while the app server can be reached; otherwise they are dropped.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

import httpx
import orjson

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log import frames
from agent_runtime.conversation.event_log.frames import EventFrame
from agent_runtime.conversation.event_log.log import Record
from agent_runtime.events.base import encode
from agent_runtime.events.errors import ServerErrorEvent

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 0.025
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 1.0
BATCH_EVENTS = 200
BATCH_BYTES = 2 * 1024 * 1024
MAX_WAITING_PIECES = 2000
REFUSED = "event_refused"
"""The code of the ServerErrorEvent that is sent in place of an event that the app server has refused."""

_REFUSALS = frozenset(
    {httpx.codes.BAD_REQUEST, httpx.codes.REQUEST_ENTITY_TOO_LARGE, httpx.codes.UNPROCESSABLE_ENTITY}
)
_MAX_REASON_CHARS = 500


class _UnavailableError(Exception):
    """The error that is raised when the app server cannot accept events of conversations at the moment."""


class _RefusedError(Exception):
    """The error that is raised when the app server refuses a batch of events, so that sending the batch again
    does not help. The text is the app server's reason.
    """


class _UnknownConversationError(Exception):
    """The error that is raised when the app server can accept no more events of this conversation: the
    conversation never existed there, was deleted there, or its log there is full.
    """


class Outbox:
    """The sender of the events of one conversation to the app server."""

    def __init__(self, conversation: ConversationEngine, url: str, http: httpx.AsyncClient) -> None:
        self._conversation = conversation
        self._log = conversation.log
        self._url = url
        self._http = http
        # Pieces of streaming replies, each with the position of the last event before it.
        self._pieces: deque[tuple[int, EventFrame]] = deque(maxlen=MAX_WAITING_PIECES)
        self._wakeup = asyncio.Event()
        self._is_away = False
        self._pause_seconds = FIRST_PAUSE_SECONDS
        self._sent_seq = self._log.acknowledged_seq
        self._batch_events = BATCH_EVENTS
        # The receiver's reason for refusing the next event, if it has refused it.
        self._refusal: str | None = None
        self._then: Callable[[], None] | None = None

    def when_current(self, then: Callable[[], None]) -> None:
        """Calls the function `then` if this server's log of the conversation has all events that the app
        server has. Asks the app server for the position of its last event to find this out, and repeats the
        question until it gets a reply. If the app server has more events than this log, `then` is never
        called. If the app server does not know the conversation, `then` is called.

        After a restart of this server, `then` lets the agent continue. If the log was restored from an old
        backup, it lacks the latest events. In this case the agent must not continue.
        """
        self._then = then
        self._wakeup.set()

    async def deliver_forever(self) -> None:
        """Sends events until the app server no longer accepts this conversation."""
        stop = self._conversation.subscribe(self._take)
        try:
            while True:
                await self._something_to_tell()
                await self._deliver_or_wait()
        except _UnknownConversationError:
            logger.info("reports end: unknown to the receiver", extra={"url": self._url})
        finally:
            stop()

    def _take(self, frame: EventFrame) -> None:
        if not frame.is_reported:
            return
        if frame.seq is None:
            if self._is_away:
                return
            if frame.is_whole:
                self._drop_whole()
            self._pieces.append((self._log.last_seq, frame))
        self._wakeup.set()

    def _drop_whole(self) -> None:
        """Removes the waiting frames (messages to clients) that show the output of running tool calls
        (`is_whole`). The caller then adds a newer frame, which shows the current output of all running calls.
        So a slow app server does not have to read outdated frames.
        """
        remaining = [piece for piece in self._pieces if not piece[1].is_whole]
        if len(remaining) < len(self._pieces):
            self._pieces = deque(remaining, maxlen=MAX_WAITING_PIECES)

    async def _ask(self, then: Callable[[], None]) -> None:
        try:
            known = await self._post(b'{"frames":[]}')
        except _UnavailableError as error:
            self._note_away(error)
            await self._pause()
            return
        except _UnknownConversationError:
            self._then = None
            then()
            raise
        self._is_away, self._pause_seconds, self._then = False, FIRST_PAUSE_SECONDS, None
        if known <= self._log.last_seq:
            then()
        else:
            extra = {"url": self._url, "known": known, "last_seq": self._log.last_seq}
            logger.warning("the log is behind what the receiver knows, and does not go on", extra=extra)

    async def _something_to_tell(self) -> None:
        if self._sent_seq < self._log.last_seq or self._pieces or self._then is not None:
            return
        self._wakeup.clear()
        await self._wakeup.wait()
        # Events of the next moments are sent in the same report.
        await asyncio.sleep(FLUSH_SECONDS)

    async def _deliver_or_wait(self) -> None:
        try:
            await self._deliver()
        except _UnknownConversationError:
            raise
        except Exception:
            # For example, a confirmation cannot be stored while the disk is full. Reports must continue
            # later: otherwise clients would always see this conversation as running.
            logger.exception("a report failed", extra={"url": self._url})
            await self._pause()

    async def _deliver(self) -> None:
        if self._then is not None:
            await self._ask(self._then)
            return
        batch = self._next_batch()
        if not batch:
            return
        try:
            acknowledged = await self._post(b'{"frames":[' + b",".join(f.wire for f in batch) + b"]}")
        except _UnavailableError as error:
            self._note_away(error)
            await self._pause()
        except _RefusedError as error:
            await self._isolate([frame for frame in batch if frame.seq is not None], str(error))
        else:
            self._is_away = False
            self._refusal = None
            self._batch_events = min(2 * self._batch_events, BATCH_EVENTS)
            await self._settle(acknowledged, expected=max((f.seq for f in batch if f.seq), default=0))

    async def _isolate(self, events: list[EventFrame], reason: str) -> None:
        """Chooses the next batch after the app server has refused the batch `events`. One refused event must
        not stop all later events.

        If the refused batch has several events, the next batch is half as large, to find the one event that
        the app server refuses. If it has only one event, a substitute is sent next in place of this event. If
        the substitute is refused, too, waits before the next attempt. Pieces of streamed replies in the
        refused batch are lost. `reason`: why the app server refused the batch.
        """
        if len(events) > 1:
            self._batch_events = len(events) // 2
        elif self._refusal is not None:
            self._note_away(_UnavailableError(f"it refuses even the notice in place of an event: {reason}"))
            await self._pause()
        elif events:
            self._refusal = reason
            logger.error(
                "the receiver refuses an event, and gets a notice in its place",
                extra={"url": self._url, "seq": events[0].seq, "reason": reason},
            )

    def _next_batch(self) -> list[EventFrame]:
        """Returns the events to send next, with the pieces of streamed replies between these events. The
        first event is the one after the last event that the app server has confirmed. If the app server has
        refused this first event, returns only a substitute for it.
        """
        if self._refusal is not None:
            (refused,) = self._log.page(after_seq=self._sent_seq, limit=1)
            return [_stand_in(refused, self._refusal)]
        records = self._log.page(after_seq=self._sent_seq, limit=self._batch_events, max_bytes=BATCH_BYTES)
        batch: list[EventFrame] = []
        for record in records:
            batch += self._pieces_before(record.seq)
            batch.append(frames.durable(record.seq, record.body))
        if not records or records[-1].seq == self._log.last_seq:
            batch += self._pieces_before(self._log.last_seq + 1)
        return batch

    def _pieces_before(self, seq: int) -> list[EventFrame]:
        found: list[EventFrame] = []
        while self._pieces and self._pieces[0][0] < seq:
            found.append(self._pieces.popleft()[1])
        return found

    async def _post(self, body: bytes) -> int:
        """Sends events of the conversation to the app server. `body`: the JSON of the request. Returns the
        position in the log of the last event that the app server has confirmed. Raises _UnavailableError,
        _RefusedError or _UnknownConversationError, depending on the status of the app server's reply.
        """
        try:
            reply = await self._http.post(
                self._url, content=body, headers={"Content-Type": "application/json"}
            )
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise _UnavailableError(f"{type(error).__name__}: {error}") from error
        if reply.status_code == httpx.codes.GONE:
            logger.warning("the receiver's log of this conversation is full", extra={"url": self._url})
        if reply.status_code in {httpx.codes.NOT_FOUND, httpx.codes.GONE}:
            raise _UnknownConversationError
        if reply.status_code in _REFUSALS:
            raise _RefusedError(f"HTTP {reply.status_code}: {reply.text[:_MAX_REASON_CHARS]}")
        if reply.status_code not in {httpx.codes.OK, httpx.codes.CONFLICT}:
            raise _UnavailableError(f"HTTP {reply.status_code}")
        try:
            return int(orjson.loads(reply.content)["acknowledged_seq"])
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise _UnavailableError(f"HTTP {reply.status_code} without an acknowledged_seq") from error

    async def _settle(self, acknowledged: int, *, expected: int) -> None:
        # If the receiver has fewer events than it once confirmed, for example after it was restored from a
        # backup, the events are sent again.
        self._sent_seq = min(acknowledged, self._log.last_seq)
        if self._sent_seq != self._log.acknowledged_seq:
            self._log.acknowledge(self._sent_seq)
        if acknowledged < expected:
            # A receiver that makes no progress must not be called again and again without a pause.
            await self._pause()
        else:
            self._pause_seconds = FIRST_PAUSE_SECONDS

    async def _pause(self) -> None:
        await asyncio.sleep(self._pause_seconds)
        self._pause_seconds = min(self._pause_seconds * 2, LONGEST_PAUSE_SECONDS)

    def _note_away(self, error: Exception) -> None:
        if not self._is_away:
            logger.warning("reports wait for the receiver", extra={"url": self._url, "cause": str(error)})
        self._is_away = True
        self._pieces.clear()


def _stand_in(record: Record, reason: str) -> EventFrame:
    """Returns the substitute event that is sent in place of a refused event, because the app server's log
    must not have gaps. `record`: the refused event in this server's log. `reason`: why the app server refused
    the event; users see this text in the substitute event.

    The id of the substitute event depends only on the position of the refused event in the log. So the id is
    the same each time the substitute event is sent.
    """
    event = ServerErrorEvent(
        id=f"refused-{record.seq}",
        timestamp=record.timestamp,
        code=REFUSED,
        detail=f"An event ({record.kind}) could not be passed on; the sandbox still has it. {reason}",
    )
    return frames.durable(record.seq, encode(event))
