"""Routes for the live stream of the current user. The stream reports changes to the user's conversations,
start tasks (the progress of starting a conversation) and spending on models. The stream is sent over a
WebSocket or as server-sent events.
"""

from contextlib import aclosing

import orjson
from fastapi import APIRouter, Request, WebSocket
from starlette.requests import HTTPConnection

from agent_runtime.wire.frames import ErrorFrame
from app_server.access.authentication import CurrentPrincipal, authenticate_websocket
from app_server.access.credentials_in_use import CredentialEnded
from app_server.access.permissions import Permission
from app_server.access.principal import Principal
from app_server.conversations.live.user_stream import UserFrame, UserStream
from app_server.conversations.view import Viewer
from app_server.core.errors import TooManyRequests
from app_server.core.pubsub import Ended
from app_server.events import stream
from app_server.events.open_streams import ServerOpenStreams
from app_server.events.server_sent import ServerSentEvents
from app_server.events.stream import SendText
from app_server.http.middleware import SUBPROTOCOL

router = APIRouter(prefix="/api/v1/users/me/stream", tags=["Events"])

_TOO_MANY = "You follow too many streams at once. Close some pages."
_SIGNED_OUT = "You are signed out."


@router.get(
    "",
    response_class=ServerSentEvents,
    responses={200: {"model": UserFrame, "description": "Server-sent events; each is one of these frames."}},
)
async def follow(
    principal: CurrentPrincipal, open_streams: ServerOpenStreams, request: Request
) -> ServerSentEvents:
    """Streams changes to the user's conversations, start tasks (the progress of starting a conversation) and
    spending on models. Sends server-sent events without an event name.

    The first event is a snapshot of the conversations, the unfinished start tasks and the spending. After a
    lost connection, the client connects again and receives a new snapshot, which replaces all earlier events.
    If the server ends the stream, its last event is `{"type": "error", "code", "detail"}`. Its code is
    `not_authenticated` (the user is signed out), `overrun` (the client was too slow) or `closed` (the app
    server shuts down).

    429 `too_many_streams` if the user has too many open streams.
    """

    async def serve(send: SendText) -> None:
        try:
            await _send_all(request, principal, send)
        except Ended as ended:
            await send(_error(ended.reason, stream.DETAILS[ended.reason]))
        except CredentialEnded:
            await send(_error("not_authenticated", _SIGNED_OUT))

    events = ServerSentEvents(serve)
    if not open_streams.admit(principal.user.id, events):
        raise TooManyRequests(_TOO_MANY, code="too_many_streams")
    return events


@router.websocket("")
async def follow_by_websocket(open_streams: ServerOpenStreams, websocket: WebSocket) -> None:
    """Streams changes to the user's conversations, start tasks (the progress of starting a conversation) and
    spending on models over a WebSocket. The messages are the same as the server-sent events of the route
    `follow`.

    If the user is not signed in or has too many streams, the server opens the WebSocket, sends the error and
    closes the WebSocket. It does not refuse the handshake, because browsers cannot read such an error.
    """
    principal = await authenticate_websocket(websocket)
    await websocket.accept(SUBPROTOCOL if SUBPROTOCOL in websocket.scope["subprotocols"] else None)
    if principal is None:
        detail = "Sign in first."
        await stream.close(websocket, stream.NOT_AUTHENTICATED, error="not_authenticated", detail=detail)
        return
    if not open_streams.admit(principal.user.id, websocket):
        await stream.close(websocket, stream.TRY_LATER, error="too_many_streams", detail=_TOO_MANY)
        return
    try:
        await stream.serve_with(websocket, lambda send: _send_all(websocket, principal, send))
    except CredentialEnded:
        await stream.close(websocket, stream.NOT_AUTHENTICATED, error="not_authenticated", detail=_SIGNED_OUT)


async def _send_all(connection: HTTPConnection, principal: Principal, send: SendText) -> None:
    """Sends the messages (frames) of the user's live stream over one connection until the stream ends.
    `send`: the function that sends one message.

    Raises Ended if the server ends the stream, for example because the client is too slow. Raises
    CredentialEnded if the user is signed out or the API key becomes invalid. Does not catch errors of `send`.
    """
    state = connection.state
    source = UserStream(state.database, state.pubsub, Viewer(state.sandboxes), principal.user.id)
    async with (
        state.credentials_in_use.hold(principal.credential, Permission.READ),
        aclosing(source.frames()) as frames,
    ):
        async for frame in frames:
            await send(frame.model_dump_json())


def _error(code: str, detail: str) -> str:
    return orjson.dumps(ErrorFrame(type="error", code=code, detail=detail)).decode()
