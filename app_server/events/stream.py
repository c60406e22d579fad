"""Sends the live stream of a conversation over a WebSocket: first the stored events, then new frames
(messages) as they arrive. No event is missing or sent twice.

Before the stored events, the stream sends two things: the frame `sync`, which names the positions of these
events, and frames about the present state of the conversation. The caller supplies the frames about the
state. The caller must also check that the user may read the conversation.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

import orjson
from starlette.websockets import WebSocket, WebSocketDisconnect

from agent_runtime.time_limits import time_limit
from agent_runtime.wire.frames import ErrorFrame, SyncFrame
from app_server.core.database import Database
from app_server.core.pubsub import LOOK, End, Ended, Frame, PubSub, Subscription
from app_server.events import log
from app_server.events.schemas import as_of_now

logger = logging.getLogger(__name__)

NOT_AUTHENTICATED = 4001
NO_SUCH_CONVERSATION = 4004
SLOW_CONSUMER = TRY_LATER = 1013
SERVER_RESTARTS = 1012

REPLAY_PAGE = 500
SEND_TIMEOUT_SECONDS = 30.0

_CLOSE_CODES = {
    End.OVERRUN: SLOW_CONSUMER,
    End.CLOSED: SERVER_RESTARTS,
    End.GONE: NO_SUCH_CONVERSATION,
}

DELETED = Frame('{"type":"deleted"}', stands=False)
"""The frame that is published when a conversation is deleted. The frame is not sent to clients. When a live
stream of the conversation receives it, the server closes the stream.
"""

SendText = Callable[[str], Awaitable[None]]
Greeting = Callable[[], Awaitable[list[Frame]]]
Opening = Callable[[], Awaitable[tuple[int, Frame]]]
FrameFilter = Callable[[Frame], Awaitable[Frame | None]]


async def serve(
    websocket: WebSocket,
    *,
    database: Database,
    pubsub: PubSub,
    conversation_id: UUID,
    after_seq: int,
    greeting: Greeting,
    opening: Opening | None = None,
    shown: FrameFilter | None = None,
) -> None:
    """Sends the live stream of a conversation over the accepted `websocket`, until the client or the server
    ends the stream. The stream contains, in this order: the first frame from `opening`, a `sync` frame with
    the positions of the stored events that follow, the frames from `greeting`, the stored events, and new
    frames.

    `after_seq`: the position of the newest event that the client already has; ignored if `opening` is given.
    `greeting`: a function that returns the frames about the present state of the conversation. `opening`: a
    function that returns the position from which stored events are sent, and the first frame of the stream.
    If `opening` is None, the stream begins with the `sync` frame, and the stored events after `after_seq` are
    sent. `shown`: a function that returns the part of a frame that the client may see, or None if the client
    may not see the frame. If `shown` is None, all frames are sent.
    """
    source = _Source(database, conversation_id, after_seq, greeting, opening)

    async def send_all(send: SendText) -> None:
        async with pubsub.subscribe(conversation_id) as subscription:
            async for frame in source.frames(subscription):
                sent = frame if shown is None else await shown(frame)
                if sent is not None:
                    await send(sent.text)

    await serve_with(websocket, send_all)


async def serve_with(websocket: WebSocket, send_all: Callable[[SendText], Awaitable[None]]) -> None:
    """Sends a live stream over the accepted `websocket`, until the client or the server ends the stream.

    `send_all`: an async function that sends the whole stream. Its argument is a function that sends one text
    frame. If `send_all` raises Ended, or if the client does not read for 30 s, the client gets an error frame
    with the reason and the WebSocket is closed.
    """
    listener = asyncio.create_task(_until_disconnected(websocket), name="stream-listen")
    sender = asyncio.create_task(_send_all(websocket, send_all), name="stream-send")
    try:
        await asyncio.wait({listener, sender}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (listener, sender):
            task.cancel()
        results = await asyncio.gather(listener, sender, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result


async def close(websocket: WebSocket, code: int, *, error: str, detail: str) -> None:
    """Sends an error message to the client, then closes the WebSocket with this code. The caller must have
    accepted the WebSocket before, because browsers hide the code of a refused connection.
    """
    text = orjson.dumps(ErrorFrame(type="error", code=error, detail=detail)).decode()
    try:
        async with time_limit(SEND_TIMEOUT_SECONDS):
            await websocket.send_text(text)
            await websocket.close(code)
    except (WebSocketDisconnect, RuntimeError, TimeoutError):
        # The client has left or does not read, so there is no one to notify.
        logger.debug("stream closed before it could be told why", extra={"code": code})


async def _until_disconnected(websocket: WebSocket) -> None:
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass


async def _send_all(websocket: WebSocket, send_all: Callable[[SendText], Awaitable[None]]) -> None:
    async def send(text: str) -> None:
        async with time_limit(SEND_TIMEOUT_SECONDS):
            await websocket.send_text(text)

    try:
        await send_all(send)
    except Ended as ended:
        await close(websocket, _CLOSE_CODES[ended.reason], error=ended.reason, detail=DETAILS[ended.reason])
    except TimeoutError:
        await close(websocket, SLOW_CONSUMER, error=End.OVERRUN, detail=DETAILS[End.OVERRUN])
    except WebSocketDisconnect:
        logger.debug("stream reader left")


DETAILS = {
    End.OVERRUN: "This connection fell behind. Connect again after the last seq that arrived.",
    End.CLOSED: "The server restarts. Connect again after the last seq that arrived.",
    End.GONE: "The conversation was deleted.",
}


@dataclass(frozen=True)
class _Source:
    """The source of the frames (messages) for one client that follows a conversation. It reads stored events
    from SQL and gets new frames from a subscription. The fields have the same meaning as the parameters of
    `serve`.
    """

    database: Database
    conversation_id: UUID
    after_seq: int
    greeting: Greeting
    opening: Opening | None

    async def frames(self, subscription: Subscription) -> AsyncIterator[Frame]:
        """Yields the frames (messages) for the client: the first frame that the function `opening` returns, a
        `sync` frame with the positions of the stored events that follow, the frames about the present state
        that the function `greeting` returns, the stored events, and then new frames. If `opening` is None,
        begins with the `sync` frame.

        Raises Ended when the subscription ends or the conversation is deleted.
        """
        # Subscribed before this read: what is committed later is in the queue, what was before is in SQL.
        through_seq = await self._last_seq()
        after_seq = self.after_seq
        if self.opening is not None:
            first_seq, frame = await self.opening()
            after_seq = first_seq - 1
            yield frame
        yield _sync(after_seq, through_seq)
        for frame in await self.greeting():
            yield frame
        async for frame in self._stored(after_seq, through_seq):
            yield frame
        reached = max(after_seq, through_seq)
        live = _without_stale_pieces(subscription.drain(), reached)
        while True:
            for frame in live:
                if frame == DELETED:
                    raise Ended(End.GONE)
                async for due in self._due(frame, reached):
                    yield due
                    reached = max(reached, due.seq or 0)
            live = [await subscription.next()]

    async def _due(self, frame: Frame, reached: int) -> AsyncIterator[Frame]:
        """Yields the frames (messages) to send to the client when `frame` arrives. These are stored events
        that were not sent yet, and then `frame` itself.

        `frame` is left out if the client has it already, or if it is the frame LOOK. LOOK is an internal
        message, which says that new events are stored. `reached`: the position of the last event that was
        sent.
        """
        if frame == LOOK:
            async for untold in self._stored(reached, await self._last_seq()):
                yield untold
        elif frame.seq is None:
            yield as_of_now(frame)
        elif frame.seq > reached:
            # Two reports may commit in one order and be published in the other.
            async for earlier in self._stored(reached, frame.seq - 1):
                yield earlier
            yield frame

    async def _last_seq(self) -> int:
        async with self.database.read() as session:
            return await log.last_seq(session, self.conversation_id)

    async def _stored(self, after_seq: int, through_seq: int) -> AsyncIterator[Frame]:
        position = after_seq
        while position < through_seq:
            async with self.database.read() as session:
                page = await log.read_frames(
                    session,
                    self.conversation_id,
                    after_seq=position,
                    through_seq=through_seq,
                    limit=REPLAY_PAGE,
                )
            if not page:
                return
            for frame in page:
                yield frame
            position = page[-1].seq or through_seq


def _without_stale_pieces(frames: list[Frame], reached: int) -> list[Frame]:
    """Removes from the frames (messages) of a subscription the pieces of model replies that are no longer
    needed, and returns the other frames. `reached`: the position of the last stored event that the client
    gets.

    Pieces are removed if they arrived before the frame of one of these stored events. The client gets the
    finished reply as a stored event.
    """
    last_known = max(
        (index for index, frame in enumerate(frames) if frame.seq is not None and frame.seq <= reached),
        default=-1,
    )
    return [frame for index, frame in enumerate(frames) if index > last_known or frame.item_id is None]


def _sync(after_seq: int, through_seq: int) -> Frame:
    frame = SyncFrame(type="sync", from_seq=after_seq, through_seq=through_seq)
    return Frame(orjson.dumps(frame).decode())
