"""Sends messages about new data to connected clients immediately. Such a message is called a frame. There is
one channel for each conversation and one for each user. Most subscribers of a channel are open streams of
clients.

The database has all data; frames are only an additional notification. If a subscriber is too slow, so that a
frame would be lost, its subscription ends. The client then connects again and reads the missing data there.
"""

import asyncio
import logging
import socket
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Protocol
from uuid import NAMESPACE_OID, UUID, uuid5

import orjson
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.time_limits import time_limit
from app_server.core.errors import ConfigurationError
from app_server.core.server_objects import from_server

if TYPE_CHECKING:
    from redis.asyncio import Redis

logger = logging.getLogger(__name__)

QUEUE_FRAMES = 2000
QUEUE_CHARACTERS = 32 * 1024**2
RECONNECT_SECONDS = 1.0
CONNECT_SECONDS = 5.0
HEARTBEAT_SECONDS = 5.0
LOOK_SECONDS = 2.0
MAX_STANDING = 1000
CHANNEL_PREFIX = "slipway:conversation:"
EVERYONE = uuid5(NAMESPACE_OID, "everyone")
"""The id of the channel for frames (messages about new data) to all users. The stream of each user reads this
channel and the channel of the user.
"""


@dataclass(frozen=True)
class Frame:
    """A message to connected clients about new data.

    `text`: the message as JSON text. `seq`: the position of the event in the conversation's log; only for
    frames with an event of the log. `item_id`: the id of a streaming reply of the model; only for frames with
    a piece of this reply. `subject`: the topic of the frame, such as `output`.

    `stands`: whether this frame is stored for clients that subscribe later. True: it is stored, and replaces
    the stored frame with the same `subject`. False: it is not stored, but deletes the stored frame with the
    same `subject`, or all stored frames if `subject` is empty. None: it is not stored and deletes nothing.
    `age_seconds`: a stored frame's age when a later subscriber gets it, otherwise 0.
    """

    text: str
    seq: int | None = None
    item_id: str | None = None
    stands: bool | None = None
    subject: str = ""
    age_seconds: float = field(default=0.0, compare=False)


LOOK = Frame("")
"""A signal that is not shown to clients. It makes the subscriber read the database, because data may have
been stored without a frame (message) about the data.
"""


class End(StrEnum):
    """The reason why a subscription to a channel has ended."""

    OVERRUN = "overrun"
    """The subscriber was too slow, or frames for the subscriber were lost."""

    CLOSED = "closed"
    """This app server shuts down."""

    GONE = "gone"
    """The conversation of the channel no longer exists."""


class Ended(Exception):
    def __init__(self, reason: End) -> None:
        super().__init__(reason)
        self.reason = reason


class Subscription:
    """A queue with the frames (messages) for one subscriber of a channel. The number and the total size of
    the frames are limited. A frame that exceeds a limit ends the subscription. Only an empty queue accepts a
    frame of any size, because otherwise a frame above the size limit could never be delivered.
    """

    def __init__(self, limit: int, *, characters: int = QUEUE_CHARACTERS) -> None:
        self._frames: deque[Frame] = deque()
        self._limit = limit
        self._remaining_characters = characters
        self._ended: End | None = None
        self._changed = asyncio.Event()

    async def next(self) -> Frame:
        """Waits for the next frame (message), removes it from the queue and returns it. Raises Ended if the
        subscription has ended.
        """
        while not self._frames:
            if self._ended:
                raise Ended(self._ended)
            self._changed.clear()
            await self._changed.wait()
        frame = self._frames.popleft()
        self._remaining_characters += len(frame.text)
        return frame

    def drain(self) -> list[Frame]:
        """Removes all frames (messages) from the queue and returns them, without waiting."""
        frames = list(self._frames)
        self._frames.clear()
        self._remaining_characters += sum(len(frame.text) for frame in frames)
        return frames

    def push(self, frame: Frame) -> None:
        if self._ended or (frame == LOOK and self._frames and self._frames[-1] == LOOK):
            return
        # An empty queue accepts a frame of any size. Otherwise no subscriber could ever get past a large
        # frame.
        too_large = bool(self._frames) and len(frame.text) > self._remaining_characters
        if too_large or len(self._frames) >= self._limit:
            self.end(End.OVERRUN)
            return
        self._frames.append(frame)
        self._remaining_characters -= len(frame.text)
        self._changed.set()

    def end(self, reason: End) -> None:
        self._frames.clear()
        self._ended = self._ended or reason
        self._changed.set()


class PubSub(Protocol):
    """The interface of an object that sends frames (messages) to channels. `publish` never waits and never
    fails. `subscribe` yields a Subscription to one channel.
    """

    def publish(self, channel: UUID, frames: Sequence[Frame]) -> None: ...

    def subscribe(self, channel: UUID) -> AbstractAsyncContextManager[Subscription]: ...

    async def close(self) -> None: ...


ServerPubSub = Annotated[PubSub, from_server("pubsub")]


def publish_after_commit(
    session: AsyncSession, pubsub: PubSub, channel: UUID, frames: Sequence[Frame]
) -> None:
    """Publishes the frames (messages for clients) when the transaction of `session` has committed. Publishes
    nothing if the transaction is rolled back.
    """

    def publish(_session: object) -> None:
        pubsub.publish(channel, frames)

    event.listen(session.sync_session, "after_commit", publish, once=True)


class LocalPubSub:
    """A sender of frames (messages to clients about new data) that reaches only the subscribers in this
    process.
    """

    def __init__(self, *, queue_frames: int = QUEUE_FRAMES) -> None:
        self._subscriptions: dict[UUID, set[Subscription]] = defaultdict(set)
        self._queue_frames = queue_frames
        self._standing: OrderedDict[UUID, dict[str, tuple[Frame, float]]] = OrderedDict()
        """The frames that later subscribers get, by channel and subject, with their arrival time (monotonic
        clock).
        """

    def publish(self, channel: UUID, frames: Sequence[Frame]) -> None:
        for frame in frames:
            if frame.stands is not None:
                self._keep(channel, frame)
        for subscription in self._subscriptions.get(channel, ()):
            for frame in frames:
                subscription.push(frame)

    @asynccontextmanager
    async def subscribe(self, channel: UUID) -> AsyncIterator[Subscription]:
        subscription = Subscription(self._queue_frames)
        self._subscriptions[channel].add(subscription)
        for frame, since in self._standing.get(channel, {}).values():
            subscription.push(replace(frame, age_seconds=time.monotonic() - since))
        try:
            yield subscription
        finally:
            self._subscriptions[channel].discard(subscription)
            if not self._subscriptions[channel]:
                del self._subscriptions[channel]

    def _keep(self, channel: UUID, frame: Frame) -> None:
        standing = self._standing.pop(channel, {})
        standing.pop(frame.subject, None)
        if frame.stands:
            standing[frame.subject] = (frame, time.monotonic())
        elif not frame.subject:
            standing.clear()
        if standing:
            self._standing[channel] = standing
            if len(self._standing) > MAX_STANDING:
                self._standing.popitem(last=False)

    def tell_all(self, frame: Frame) -> None:
        for channel in list(self._subscriptions):
            self.publish(channel, [frame])

    def end_all(self, reason: End) -> None:
        for subscriptions in self._subscriptions.values():
            for subscription in subscriptions:
                subscription.end(reason)

    async def close(self) -> None:
        self.end_all(End.CLOSED)


class RedisPubSub:
    """A PubSub that sends frames (messages) to the subscribers of all app servers, through Redis. Every app
    server receives the frames of all channels and passes them on to its own subscribers.

    Redis does not store frames for an app server that is not connected. So all subscriptions end when the
    connection to Redis is lost. While Redis cannot be reached, new subscribers get no frames of other
    servers. Instead they get `LOOK` frames at intervals, which make them read the database.
    """

    def __init__(self, url: str, *, queue_frames: int = QUEUE_FRAMES) -> None:
        self._url = url
        self._local = LocalPubSub(queue_frames=queue_frames)
        self._outgoing: asyncio.Queue[tuple[UUID, bytes]] = asyncio.Queue(maxsize=queue_frames)
        self._unheard: set[UUID] = set()
        """The ids of the channels with frames that other app servers have not received."""
        self._is_away = False
        self._is_closed = False
        self._listening = asyncio.Event()
        self._tasks = [
            asyncio.create_task(self._stay_connected(), name="redis"),
            asyncio.create_task(self._look_while_away(), name="redis cannot be reached"),
        ]

    def publish(self, channel: UUID, frames: Sequence[Frame]) -> None:
        if self._is_away:
            self._unheard.add(channel)
            self._local.publish(channel, frames)
            return
        try:
            self._outgoing.put_nowait((channel, _payload(frames)))
        except asyncio.QueueFull:
            logger.warning("redis cannot keep up; subscribers start over")
            self._unheard.add(channel)
            self._local.end_all(End.OVERRUN)

    @asynccontextmanager
    async def subscribe(self, channel: UUID) -> AsyncIterator[Subscription]:
        if not self._is_away:
            with suppress(TimeoutError):
                async with time_limit(CONNECT_SECONDS):
                    await self._listening.wait()
        async with self._local.subscribe(channel) as subscription:
            yield subscription

    async def close(self) -> None:
        # A cancellation is lost when it comes at the moment at which a connection fails.
        self._is_closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._local.close()

    async def _stay_connected(self) -> None:
        # 174 ms to import, and most installations have no Redis.
        from redis.exceptions import RedisError

        while not self._is_closed:
            client = _client(self._url)
            try:
                async with client, asyncio.TaskGroup() as group:
                    group.create_task(self._listen(client))
                    group.create_task(self._send(client))
            except* (RedisError, OSError) as errors:
                if not self._is_away:
                    logger.warning("redis cannot be reached", extra={"error": str(errors.exceptions[0])})
            finally:
                self._go_on_alone()
            await asyncio.sleep(RECONNECT_SECONDS)

    def _go_on_alone(self) -> None:
        if self._listening.is_set():
            self._local.end_all(End.OVERRUN)
        self._listening.clear()
        self._is_away = True
        while not self._outgoing.empty():
            self._unheard.add(self._outgoing.get_nowait()[0])

    def _go_on_together(self) -> None:
        # Subscriptions that began while Redis was away are ended, so that they start again. They have missed
        # frames of other servers that are not stored.
        if self._is_away:
            self._local.end_all(End.OVERRUN)
        self._is_away = False
        self._listening.set()

    async def _look_while_away(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self._is_away:
                self._local.tell_all(LOOK)

    async def _listen(self, client: "Redis") -> None:
        from redis.exceptions import ConnectionError as NoAnswer

        async with client.pubsub() as listener:
            await listener.psubscribe(CHANNEL_PREFIX + "*")
            is_asked = False
            while True:
                message = await listener.get_message(timeout=HEARTBEAT_SECONDS)
                if message is None:
                    if is_asked:
                        raise NoAnswer("it does not answer")
                    await listener.ping()
                    is_asked = True
                    continue
                is_asked = False
                if message["type"] == "psubscribe":
                    self._go_on_together()
                elif message["type"] == "pmessage":
                    channel = UUID(hex=message["channel"].decode().removeprefix(CHANNEL_PREFIX))
                    frames = [Frame(*fields) for fields in orjson.loads(message["data"])]
                    self._local.publish(channel, frames)

    async def _send(self, client: "Redis") -> None:
        await self._listening.wait()
        while self._unheard:
            channel = next(iter(self._unheard))
            await client.publish(CHANNEL_PREFIX + channel.hex, _payload([LOOK]))
            self._unheard.discard(channel)
        while True:
            channel, payload = await self._outgoing.get()
            self._unheard.add(channel)
            await client.publish(CHANNEL_PREFIX + channel.hex, payload)
            self._unheard.discard(channel)


def _payload(frames: Sequence[Frame]) -> bytes:
    return orjson.dumps(
        [(frame.text, frame.seq, frame.item_id, frame.stands, frame.subject) for frame in frames]
    )


def _client(url: str) -> "Redis":
    from redis.asyncio import Redis

    return Redis.from_url(url, socket_connect_timeout=CONNECT_SECONDS, socket_timeout=CONNECT_SECONDS)


async def require_redis(url: str) -> None:
    """Checks the URL of Redis. Raises ConfigurationError if the URL is not valid or Redis refuses the
    password. Only logs a warning if Redis cannot be reached now.
    """
    from redis.exceptions import AuthenticationError, RedisError, ResponseError

    wrong = "SLIPWAY_REDIS_URL cannot be used ({}): write it like redis://:PASSWORD@HOST:6379/0, or unset it"
    try:
        client = _client(url)
    except (ValueError, TypeError) as error:
        raise ConfigurationError(wrong.format(str(error).partition("\n")[0])) from None
    try:
        async with client:
            await client.ping()
    except (AuthenticationError, ResponseError) as error:
        raise ConfigurationError(wrong.format(error)) from None
    except (RedisError, OSError) as error:
        if isinstance(error.__context__, socket.gaierror) or isinstance(error.__cause__, socket.gaierror):
            raise ConfigurationError(wrong.format("its host has no address")) from None
        logger.warning(
            "redis cannot be reached; streams read the database meanwhile", extra={"error": str(error)}
        )


def make_pubsub(redis_url: str | None) -> PubSub:
    """Returns the object that sends frames (messages) to connected clients: a RedisPubSub, or a LocalPubSub
    if `redis_url` is None. Must be called in a running event loop.
    """
    return RedisPubSub(redis_url) if redis_url else LocalPubSub()
