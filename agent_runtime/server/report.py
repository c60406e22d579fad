"""The outbox: everything conversations publish goes to the app server, in order, until it has confirmed it.

The log itself is the queue: `acknowledged_seq` in its file says how far the receiver has come, so nothing
is lost or kept twice when either side dies. Pieces of streaming replies travel along while the receiver is
there, and are dropped while it is not.
"""

import asyncio
import logging
from collections import deque
from uuid import UUID

import httpx
import orjson

from agent_runtime.conversation import frames
from agent_runtime.conversation.conversation import Conversation
from agent_runtime.conversation.frames import Frame
from agent_runtime.server.config import Config
from agent_runtime.wire import API_KEY_HEADER

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 0.025
TIMEOUT_SECONDS = 30
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 1.0
BATCH_EVENTS = 200
BATCH_BYTES = 2 * 1024 * 1024
MAX_WAITING_PIECES = 2000


class Reporter:
    """Follows conversations with one task each. Close it before the conversations."""

    def __init__(self, config: Config) -> None:
        self._url = config.report_url
        self._headers = {API_KEY_HEADER: config.session_keys[0]} if config.session_keys else {}
        self._http: httpx.AsyncClient | None = None
        self._tasks: dict[UUID, asyncio.Task[None]] = {}

    @property
    def is_on(self) -> bool:
        return self._url is not None

    def follow(self, conversation: Conversation) -> None:
        """Reports the conversation from its last confirmed position on."""
        if self._url is None:
            return
        url = f"{self._url}/events/{conversation.id.hex}"
        outbox = Outbox(conversation, url, self._connections())
        self._tasks[conversation.id] = asyncio.create_task(
            outbox.deliver_forever(), name=f"report {conversation.id}"
        )

    async def forget(self, conversation_id: UUID) -> None:
        task = self._tasks.pop(conversation_id, None)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def close(self) -> None:
        for conversation_id in tuple(self._tasks):
            await self.forget(conversation_id)
        if self._http is not None:
            await self._http.aclose()

    def _connections(self) -> httpx.AsyncClient:
        if self._http is None:
            # Reports go to the app server's own listener, never through a proxy meant for the outside.
            self._http = httpx.AsyncClient(headers=self._headers, timeout=TIMEOUT_SECONDS, trust_env=False)
        return self._http


class _UnavailableError(Exception):
    """The receiver cannot take reports now."""


class _UnknownConversationError(Exception):
    """The receiver has no such conversation, or no longer."""


class Outbox:
    """What one conversation has to tell the app server."""

    def __init__(self, conversation: Conversation, url: str, http: httpx.AsyncClient) -> None:
        self._conversation = conversation
        self._log = conversation.log
        self._url = url
        self._http = http
        # Pieces in between events: each stands before the event with the position after it.
        self._pieces: deque[tuple[int, Frame]] = deque(maxlen=MAX_WAITING_PIECES)
        self._wakeup = asyncio.Event()
        self._is_away = False
        self._pause_seconds = FIRST_PAUSE_SECONDS
        self._sent_seq = self._log.acknowledged_seq

    async def deliver_forever(self) -> None:
        """Returns only when the receiver no longer knows the conversation."""
        stop = self._conversation.subscribe(self._take)
        try:
            while True:
                await self._something_to_tell()
                await self._deliver_or_wait()
        except _UnknownConversationError:
            logger.info("reports end: unknown to the receiver", extra={"url": self._url})
        finally:
            stop()

    def _take(self, frame: Frame) -> None:
        if not frame.is_reported:
            return
        if frame.seq is None:
            if self._is_away:
                return
            self._pieces.append((self._log.last_seq, frame))
        self._wakeup.set()

    async def _something_to_tell(self) -> None:
        if self._sent_seq < self._log.last_seq or self._pieces:
            return
        self._wakeup.clear()
        await self._wakeup.wait()
        # What follows within the next moments travels along.
        await asyncio.sleep(FLUSH_SECONDS)

    async def _deliver_or_wait(self) -> None:
        try:
            await self._deliver()
        except _UnknownConversationError:
            raise
        except Exception:
            # A full disk, say, keeps a confirmation from being noted. Reports must go on once it is over:
            # whoever watches would see this conversation as running for ever.
            logger.exception("a report failed", extra={"url": self._url})
            await self._pause()

    async def _deliver(self) -> None:
        batch = self._next_batch()
        if not batch:
            return
        try:
            acknowledged = await self._post(b'{"frames":[' + b",".join(f.wire for f in batch) + b"]}")
        except _UnavailableError as error:
            self._note_away(error)
            await self._pause()
        else:
            self._is_away = False
            await self._settle(acknowledged, expected=max((f.seq for f in batch if f.seq), default=0))

    def _next_batch(self) -> list[Frame]:
        """Events from the last confirmed position on, with the pieces that belong between them."""
        records = self._log.page(after_seq=self._sent_seq, limit=BATCH_EVENTS, max_bytes=BATCH_BYTES)
        batch: list[Frame] = []
        for record in records:
            batch += self._pieces_before(record.seq)
            batch.append(frames.durable(record.seq, record.body))
        if not records or records[-1].seq == self._log.last_seq:
            batch += self._pieces_before(self._log.last_seq + 1)
        return batch

    def _pieces_before(self, seq: int) -> list[Frame]:
        found: list[Frame] = []
        while self._pieces and self._pieces[0][0] < seq:
            found.append(self._pieces.popleft()[1])
        return found

    async def _post(self, body: bytes) -> int:
        """What the receiver has confirmed."""
        try:
            reply = await self._http.post(
                self._url, content=body, headers={"Content-Type": "application/json"}
            )
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise _UnavailableError(f"{type(error).__name__}: {error}") from error
        if reply.status_code == httpx.codes.NOT_FOUND:
            raise _UnknownConversationError
        if reply.status_code not in {httpx.codes.OK, httpx.codes.CONFLICT}:
            raise _UnavailableError(f"HTTP {reply.status_code}")
        try:
            return int(orjson.loads(reply.content)["acknowledged_seq"])
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise _UnavailableError(f"HTTP {reply.status_code} without an acknowledged_seq") from error

    async def _settle(self, acknowledged: int, *, expected: int) -> None:
        # A receiver that knows less than it once confirmed, say from a restored backup, is told again.
        self._sent_seq = min(acknowledged, self._log.last_seq)
        if self._sent_seq != self._log.acknowledged_seq:
            self._log.acknowledged_seq = self._sent_seq
        if acknowledged < expected:
            # Going back is rare; one that never comes further must not be asked without end at full speed.
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
