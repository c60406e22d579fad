"""A WebSocket to the terminal of a conversation, in its sandbox. A person types there; the agent does not see
it.
"""

import logging
from uuid import UUID

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from starlette.types import Message

from agent_runtime.relay.sockets import relay_socket
from agent_runtime.relay.target import TargetSilentError
from agent_runtime.wire import API_KEY_HEADER
from app_server.access.authentication import authenticate_websocket
from app_server.access.credentials_in_use import CredentialEnded
from app_server.access.permissions import Permission
from app_server.access.principal import Principal
from app_server.access.route_access import permission_missing
from app_server.agent_client.client import AgentClient
from app_server.conversations import service
from app_server.conversations.view import Viewer
from app_server.core.errors import AppError, Forbidden, NotAuthenticated, NotFound, TooManyRequests
from app_server.events import stream
from app_server.events.open_streams import ServerOpenStreams
from app_server.gateway.agent_target import agent_target
from app_server.http.middleware import SUBPROTOCOL

logger = logging.getLogger(__name__)

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}")

_NOT_NOW = 4009
_KEY = API_KEY_HEADER.lower().encode()


@router.websocket("/terminal")
async def open_terminal(websocket: WebSocket, conversation_id: str, open_streams: ServerOpenStreams) -> None:
    """Opens the terminal of a conversation: a bash in its directory. Only the owner of the conversation may
    open it, and its sandbox must run. See docs/protocol.md for the messages.

    If the request is refused, the server first accepts the WebSocket, and then closes it with an error,
    because browsers cannot read errors of the WebSocket handshake.
    """
    try:
        principal, client = await _allowed(websocket, conversation_id)
        if not open_streams.admit(principal.user.id, websocket):
            raise TooManyRequests(
                "You have too many live pages open. Close some of them.", code="too_many_streams"
            )
    except AppError as error:
        await websocket.accept(_subprotocol(websocket))
        await stream.close(websocket, _close_code(error), error=error.code, detail=error.detail)
        return
    try:
        async with websocket.state.credentials_in_use.hold(principal.credential, Permission.WORK):
            await _relay(websocket, client, conversation_id)
    except CredentialEnded:
        detail = "You are signed out."
        await stream.close(websocket, stream.NOT_AUTHENTICATED, error="not_authenticated", detail=detail)


async def _allowed(websocket: WebSocket, conversation_id: str) -> tuple[Principal, AgentClient]:
    """Returns the sender of the request, and the client of the sandbox's agent server. Raises an AppError if
    the sender may not open the terminal, or if the sandbox does not run.
    """
    principal = await authenticate_websocket(websocket)
    if principal is None:
        raise NotAuthenticated("Sign in first.")
    if not principal.may(Permission.WORK):
        raise permission_missing(Permission.WORK)
    try:
        wanted = UUID(conversation_id)
    except ValueError:
        raise NotFound("No such conversation.") from None
    async with websocket.state.database.read() as session:
        viewer = Viewer(websocket.state.sandboxes)
        workplace = await service.workplace(session, viewer, principal.user.id, wanted)
    return principal, workplace.client


async def _relay(websocket: WebSocket, client: AgentClient, conversation_id: str) -> None:
    async def send(message: Message) -> None:
        if message["type"] == "websocket.accept":
            message = {**message, "subprotocol": _subprotocol(websocket)}
        try:
            await websocket.send(message)
        except WebSocketDisconnect as gone:
            raise ConnectionResetError("the client has gone") from gone  # as ASGI servers say it

    target = agent_target(
        client,
        f"/sockets/terminal/{UUID(conversation_id)}".encode(),
        [(_KEY, client.session_key.encode())],
        websocket.state.trust_of_hosts,
    )
    try:
        # The subprotocols of the client are those of this server, not those of the agent server.
        await relay_socket(target, {**websocket.scope, "subprotocols": []}, websocket.receive, send)
    except TargetSilentError as error:
        logger.info("a terminal could not be opened", extra={"reason": str(error)})
        await websocket.accept(_subprotocol(websocket))
        detail = "The sandbox's agent server does not answer. Try again in a moment."
        await stream.close(websocket, _NOT_NOW, error="agent_server_error", detail=detail)


def _subprotocol(websocket: WebSocket) -> str | None:
    # Browsers end a connection for which they offered subprotocols and none was selected.
    return SUBPROTOCOL if SUBPROTOCOL in websocket.scope["subprotocols"] else None


def _close_code(error: AppError) -> int:
    if isinstance(error, NotAuthenticated):
        return stream.NOT_AUTHENTICATED
    if isinstance(error, TooManyRequests):
        return stream.TRY_LATER
    return stream.NO_SUCH_CONVERSATION if isinstance(error, (NotFound, Forbidden)) else _NOT_NOW
