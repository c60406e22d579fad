"""WebSockets that send a conversation's events as they occur, and receive messages for the conversation."""

import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Literal
from uuid import UUID

import orjson
from fastapi import WebSocket, WebSocketDisconnect
from pydantic import ValidationError

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log import frames
from agent_runtime.conversation.event_log.follow import EndedError, SlowConsumerError, follow
from agent_runtime.conversation.event_log.frames import EventFrame
from agent_runtime.events.errors import ServerErrorEvent
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.relay.duplex import until_either_ends
from agent_runtime.server.errors import ServerProblem, problem_of
from agent_runtime.server.keys.auth import CLOSE_RESTARTING, accept_socket, is_auth_frame
from agent_runtime.server.routers.conversation.conversations import check_size, deliver
from agent_runtime.server.routers.conversation.events import local_timestamp
from agent_runtime.server.routers.moments import LocalMoment
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import SendMessageRequest

router = Router(prefix="/sockets")

CLOSE_NOT_FOUND = 4004
CLOSE_SLOW_CONSUMER = 1013


@router.websocket("/session/{conversation_id}")
async def session(socket: WebSocket, conversation_id: str, after_seq: int | None = None) -> None:
    """Sends the frames (messages) of a conversation over a WebSocket. One kind of frame contains an event and
    its position in the log; docs/protocol.md, section 2, describes all kinds. Messages from the client are
    added to the conversation.

    `after_seq`: first sends the stored events after this position in the log. Without `after_seq`, only new
    events are sent.
    """
    conversation = await _enter(socket, conversation_id)
    if conversation is None:
        return
    with socket.app.state.registry.using(conversation.id):
        await _serve_session(socket, conversation, after_seq)


async def _serve_session(socket: WebSocket, conversation: ConversationEngine, after_seq: int | None) -> None:
    last = conversation.log.last_seq
    after = last if after_seq is None else min(max(after_seq, 0), last)
    await _send(socket, frames.sync(after + 1, last))
    await until_either_ends(
        _send_all(socket, conversation, _wires(conversation, after)),
        _receive_all(socket, conversation, _wire),
    )


@router.websocket("/events/{conversation_id}")
async def events(
    socket: WebSocket,
    conversation_id: str,
    resend_mode: Literal["all", "since"] | None = None,
    after_timestamp: LocalMoment | None = None,
    resend_all: bool = False,
) -> None:
    """Sends the events of a conversation over a WebSocket, each as a separate message: first the full state
    of the conversation, then the stored events that the client requests, then new events as they occur.
    Messages from the client are added to the conversation.

    `resend_mode`: `all` sends all stored events, `since` sends the stored events from `after_timestamp` on;
    by default, no stored events are sent. `resend_all`: True has the same effect as the mode `all`. If stored
    events were sent, the full state is sent once more after these events.
    """
    conversation = await _enter(socket, conversation_id)
    if conversation is None:
        return
    mode = "all" if resend_all else resend_mode
    with socket.app.state.registry.using(conversation.id):
        after = _resend_after(conversation, mode, after_timestamp)
        known_state = conversation.run_context.full_state()
        await _send_text(socket, _bare(frames.transient(known_state)))
        await until_either_ends(
            _send_all(socket, conversation, _events(conversation, after, known_state)),
            _receive_all(socket, conversation, _bare),
        )


async def _enter(socket: WebSocket, conversation_id: str) -> ConversationEngine | None:
    """Checks the session key (the key that clients must send) that the client sends with the WebSocket, and
    returns the conversation with this id.

    If the key is wrong or the conversation does not exist, closes the socket and returns None.
    """
    if not await accept_socket(socket):
        return None
    try:
        conversation: ConversationEngine = socket.app.state.registry.get(UUID(conversation_id))
    except (ServerProblem, ValueError):
        await socket.close(CLOSE_NOT_FOUND, "Conversation not found")
        return None
    return conversation


def _resend_after(
    conversation: ConversationEngine, mode: str | None, after_timestamp: LocalMoment | None
) -> int:
    if mode == "all":
        return 0
    if mode == "since" and (timestamp := local_timestamp(after_timestamp)):
        return conversation.log.seq_before(timestamp)
    return conversation.log.last_seq


async def _wires(conversation: ConversationEngine, after_seq: int) -> AsyncGenerator[bytes, None]:
    async with contextlib.aclosing(follow(conversation, after_seq=after_seq)) as followed:
        async for frame in followed:
            yield frame.wire


async def _events(
    conversation: ConversationEngine, after_seq: int, known_state: ConversationStateUpdateEvent
) -> AsyncGenerator[bytes, None]:
    async with contextlib.aclosing(
        follow(conversation, after_seq=after_seq, known_state=known_state)
    ) as followed:
        async for frame in followed:
            if frame.event is not None:
                yield frame.event


def _wire(frame: EventFrame) -> bytes:
    return frame.wire


def _bare(frame: EventFrame) -> bytes:
    return frame.event or b""


async def _send_all(
    socket: WebSocket, conversation: ConversationEngine, outgoing: AsyncGenerator[bytes, None]
) -> None:
    try:
        async with contextlib.aclosing(outgoing) as texts:
            async for text in texts:
                await _send_text(socket, text)
    except SlowConsumerError:
        await _close(socket, CLOSE_SLOW_CONSUMER, "slow_consumer")
    except EndedError:
        gone = conversation.is_deleted
        await _close(
            socket, CLOSE_NOT_FOUND if gone else CLOSE_RESTARTING, "deleted" if gone else "restarting"
        )
    except WebSocketDisconnect:
        pass  # the reader went away: no client is left to tell


async def _receive_all(
    socket: WebSocket, conversation: ConversationEngine, as_sent: Callable[[EventFrame], bytes]
) -> None:
    """Receives messages from the client until the connection ends. Adds each message to the conversation, and
    starts the agent unless the agent is already working. If a message is refused, sends the reason to the
    client and continues.

    `as_sent`: a function that converts a frame (a message to the client) to the JSON in which this WebSocket
    sends frames.
    """
    try:
        while True:
            text = await socket.receive_text()
            try:
                _receive(conversation, text)
            except Exception as error:
                refusal = _refusal(error)
                if refusal is None:
                    raise
                await _send_text(socket, as_sent(frames.transient(refusal)))
    except WebSocketDisconnect:
        pass  # as above
    except KeyError:
        await _close(socket, 1003, "Send text frames")


def _receive(conversation: ConversationEngine, text: str) -> None:
    body = orjson.loads(text)
    if is_auth_frame(body):
        return
    message = SendMessageRequest.model_validate(body)
    check_size(message)
    deliver(conversation, message.model_copy(update={"run": True}))


def _refusal(error: Exception) -> ServerErrorEvent | None:
    """Returns the event that informs a client why its message was refused. Returns None if `error` is
    unexpected (for example, a bug of the server).
    """
    if isinstance(error, orjson.JSONDecodeError | ValidationError):
        return ServerErrorEvent(code=type(error).__name__, detail=_without_values(error))
    problem = problem_of(error)
    return None if problem is None else ServerErrorEvent(code=problem.code, detail=problem.detail)


def _without_values(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    problems = error.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in problems)


async def _send(socket: WebSocket, frame: EventFrame) -> None:
    await _send_text(socket, frame.wire)


async def _send_text(socket: WebSocket, text: bytes) -> None:
    await socket.send_text(text.decode())


async def _close(socket: WebSocket, code: int, reason: str) -> None:
    # The client may have closed the socket at the same moment.
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        await socket.close(code, reason)
