"""Live frames from those who write to those who watch, one channel per conversation.

SQL is the truth; this only says "now". A subscriber that cannot be served completely is ended, never served
with a hole: it comes back and reads what it missed from SQL.
"""

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

import orjson
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncSession

if TYPE_CHECKING:
    from redis.asyncio import Redis

logger = logging.getLogger(__name__)

QUEUE_FRAMES = 2000
QUEUE_CHARACTERS = 32 * 1024**2
RECONNECT_SECONDS = 1.0
CONNECT_SECONDS = 5.0
CHANNEL_PREFIX = "slipway:conversation:"


@dataclass(frozen=True)
class Frame:
    """One frame of the live stream as JSON text.

    `seq` only for events of the log, `item_id` only for pieces of a streaming reply.
    """

    text: str
    seq: int | None = None
    item_id: str | None = None


class End(StrEnum):
    """Why a subscription ended."""

    OVERRUN = "overrun"
    """The subscriber fell behind, or frames were lost on the way to it."""

    CLOSED = "closed"
    """This server shuts down."""

    GONE = "gone"
    """What was watched exists no more."""


class Ended(Exception):
    def __init__(self, reason: End) -> None:
        super().__init__(reason)
        self.reason = reason


class Subscription:
    """A queue of frames, bounded in their number and size. The first overflow ends it."""

    def __init__(self, limit: int, *, characters: int = QUEUE_CHARACTERS) -> None:
        self._frames: deque[Frame] = deque()
        self._limit = limit
        self._characters_left = characters
        self._ended: End | None = None
        self._changed = asyncio.Event()

    async def next(self) -> Frame:
        """The next frame. Raises Ended once there will be no more."""
        while not self._frames:
            if self._ended:
                raise Ended(self._ended)
            self._changed.clear()
            await self._changed.wait()
        frame = self._frames.popleft()
        self._characters_left += len(frame.text)
        return frame

    def drain(self) -> list[Frame]:
        """What has arrived so far."""
        frames = list(self._frames)
        self._frames.clear()
        self._characters_left += sum(len(frame.text) for frame in frames)
        return frames

    def push(self, frame: Frame) -> None:
        if self._ended:
            return
        # One frame is always taken: no watcher could ever get past a larger one.
        too_large = bool(self._frames) and len(frame.text) > self._characters_left
        if too_large or len(self._frames) >= self._limit:
            self.end(End.OVERRUN)
            return
        self._frames.append(frame)
        self._characters_left -= len(frame.text)
        self._changed.set()

    def end(self, reason: End) -> None:
        self._frames.clear()
        self._ended = self._ended or reason
        self._changed.set()


class PubSub(Protocol):
    """Publishing never waits and never fails; `subscribe` is a context with a Subscription."""

    def publish(self, channel: UUID, frames: Sequence[Frame]) -> None: ...

    def subscribe(self, channel: UUID) -> AbstractAsyncContextManager[Subscription]: ...

    async def close(self) -> None: ...


def publish_after_commit(
    session: AsyncSession, pubsub: PubSub, channel: UUID, frames: Sequence[Frame]
) -> None:
    """Publishes once the transaction of `session` is durable; after a rollback, not at all."""

    def publish(_session: object) -> None:
        pubsub.publish(channel, frames)

    event.listen(session.sync_session, "after_commit", publish, once=True)


class LocalPubSub:
    """Fan-out inside this process."""

    def __init__(self, *, queue_frames: int = QUEUE_FRAMES) -> None:
        self._subscriptions: dict[UUID, set[Subscription]] = defaultdict(set)
        self._queue_frames = queue_frames

    def publish(self, channel: UUID, frames: Sequence[Frame]) -> None:
        for subscription in self._subscriptions.get(channel, ()):
            for frame in frames:
                subscription.push(frame)

    @asynccontextmanager
    async def subscribe(self, channel: UUID) -> AsyncIterator[Subscription]:
        subscription = Subscription(self._queue_frames)
        self._subscriptions[channel].add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions[channel].discard(subscription)
            if not self._subscriptions[channel]:
                del self._subscriptions[channel]

    def end_all(self, reason: End) -> None:
        for subscriptions in self._subscriptions.values():
            for subscription in subscriptions:
                subscription.end(reason)

    async def close(self) -> None:
        self.end_all(End.CLOSED)


class RedisPubSub:
    """Fan-out across app servers: every server hears all channels and serves its own subscribers.

    Redis keeps nothing for a listener that is away, so whenever the connection is lost all subscribers end.
    """

    def __init__(self, url: str, *, queue_frames: int = QUEUE_FRAMES) -> None:
        self._url = url
        self._local = LocalPubSub(queue_frames=queue_frames)
        self._outgoing: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue(maxsize=queue_frames)
        self._listening = asyncio.Event()
        self._connection = asyncio.create_task(self._stay_connected(), name="redis")

    def publish(self, channel: UUID, frames: Sequence[Frame]) -> None:
        payload = orjson.dumps([(frame.text, frame.seq, frame.item_id) for frame in frames])
        try:
            self._outgoing.put_nowait((CHANNEL_PREFIX + channel.hex, payload))
        except asyncio.QueueFull:
            logger.warning("redis cannot keep up; subscribers start over")
            self._local.end_all(End.OVERRUN)

    @asynccontextmanager
    async def subscribe(self, channel: UUID) -> AsyncIterator[Subscription]:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._listening.wait()
        except TimeoutError:
            raise Ended(End.OVERRUN) from None
        async with self._local.subscribe(channel) as subscription:
            yield subscription

    async def close(self) -> None:
        self._connection.cancel()
        await asyncio.gather(self._connection, return_exceptions=True)
        await self._local.close()

    async def _stay_connected(self) -> None:
        # 174 ms to import, and most installations have no Redis.
        from redis.asyncio import Redis
        from redis.exceptions import RedisError

        while True:
            client = Redis.from_url(self._url, socket_connect_timeout=CONNECT_SECONDS)
            try:
                async with client, asyncio.TaskGroup() as group:
                    group.create_task(self._listen(client))
                    group.create_task(self._send(client))
            except* (RedisError, OSError) as errors:
                logger.warning("redis connection lost", extra={"error": str(errors.exceptions[0])})
            finally:
                self._listening.clear()
                self._local.end_all(End.OVERRUN)
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _listen(self, client: "Redis") -> None:
        async with client.pubsub() as listener:
            await listener.psubscribe(CHANNEL_PREFIX + "*")
            async for message in listener.listen():
                if message["type"] == "psubscribe":
                    self._listening.set()
                elif message["type"] == "pmessage":
                    channel = UUID(hex=message["channel"].decode().removeprefix(CHANNEL_PREFIX))
                    frames = [Frame(*fields) for fields in orjson.loads(message["data"])]
                    self._local.publish(channel, frames)

    async def _send(self, client: "Redis") -> None:
        while True:
            channel, payload = await self._outgoing.get()
            await client.publish(channel, payload)


def make_pubsub(redis_url: str | None) -> PubSub:
    """The fan-out of this installation; call it inside the running loop."""
    return RedisPubSub(redis_url) if redis_url else LocalPubSub()
