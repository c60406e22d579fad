"""Relays one WebSocket connection to another server: its messages, its subprotocol, and the code and reason
with which it is closed.
"""

import logging
from typing import Any

from starlette.types import Message, Receive, Scope, Send
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.typing import Subprotocol

from agent_runtime.relay.duplex import until_either_ends
from agent_runtime.relay.target import CONNECT_SECONDS, Target, TargetSilentError, first, without
from agent_runtime.time_limits import time_limit

logger = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 16 * 1024**2
"""The maximum size of one message. It is limited because a message is held in memory as a whole. The HTTP
server uvicorn has the same limit for messages from clients.
"""

_OF_THE_HANDSHAKE = (
    *(b"host", b"content-length", b"sec-websocket-key", b"sec-websocket-version"),
    *(b"sec-websocket-extensions", b"sec-websocket-protocol"),
)
_CLOSE_NORMAL, _CLOSE_FAILED = 1000, 1011
_NOT_SENT = {1005: _CLOSE_NORMAL, 1006: _CLOSE_FAILED, 1015: _CLOSE_FAILED}


class _Direct(connect):
    """A WebSocket connection to the server to which messages are relayed. It follows no redirect; a redirect
    counts as a refused connection.
    """

    def process_redirect(self, exc: Exception) -> Exception:
        return exc


async def relay_socket(target: Target, scope: Scope, receive: Receive, send: Send) -> None:
    """Passes WebSocket messages between a client and another server (`target`) in both directions, until
    either side has closed its connection. If the server refuses the connection, the client's connection is
    refused, too. Raises TargetSilentError if the server gives no reply.
    """
    host, scheme = first(target.headers, b"host"), "wss" if target.tls else "ws"
    try:
        connection = await _Direct(
            f"{scheme}://{host.decode('latin-1') if host else target.url_host}{target.path.decode('ascii')}",
            **await _address(target),
            ssl=target.tls,
            subprotocols=[Subprotocol(one) for one in scope["subprotocols"]] or None,
            additional_headers=[
                (name.decode("latin-1"), value.decode("latin-1"))
                for name, value in without(target.headers, _OF_THE_HANDSHAKE)
            ],
            user_agent_header=None,
            compression=None,
            proxy=None,
            open_timeout=CONNECT_SECONDS,
            ping_interval=None,
            max_size=MAX_MESSAGE_BYTES,
        )
    except InvalidStatus as refusal:
        logger.info("a socket was refused", extra={"status": refusal.response.status_code})
        await refuse_socket(send)
        return
    except (OSError, TimeoutError, InvalidHandshake, ValueError) as error:
        was_reached = isinstance(error, InvalidHandshake)
        raise TargetSilentError(str(error) or type(error).__name__, was_reached=was_reached) from error
    async with connection:
        await receive()  # websocket.connect
        await send({"type": "websocket.accept", "subprotocol": connection.subprotocol})
        await until_either_ends(_to_client(connection, send), _to_server(connection, receive))


async def _address(target: Target) -> dict[str, Any]:
    """Returns the arguments that tell the library websockets how to reach the target: a host and port, a Unix
    socket, or an open connection. Raises OSError or TimeoutError if a connection cannot be opened.
    """
    if target.dial is not None:
        async with time_limit(CONNECT_SECONDS):
            return {"sock": await target.dial(target.host, target.port)}
    if target.socket is not None:
        return {"unix": True, "path": str(target.socket)}
    return {"host": target.host, "port": target.port}


async def refuse_socket(send: Send) -> None:
    """Refuses a client's WebSocket connection before it is accepted. The client gets the HTTP status 403."""
    await send({"type": "websocket.close", "code": _CLOSE_NORMAL})


async def _to_client(connection: ClientConnection, send: Send) -> None:
    try:
        async for message in connection:
            await send(_frame(message))
        code, reason = connection.close_code, connection.close_reason
    except ConnectionClosed as closed:
        received = closed.rcvd
        code, reason = (received.code, received.reason) if received else (1006, "")
    except OSError:
        return  # the client has gone
    await _close(send, code or 1006, reason or "")


async def _close(send: Send, code: int, reason: str) -> None:
    try:
        await send({"type": "websocket.close", "code": _NOT_SENT.get(code, code), "reason": reason})
    except (OSError, RuntimeError):
        logger.debug("a client closed its socket at the same moment")


async def _to_server(connection: ClientConnection, receive: Receive) -> None:
    try:
        while (message := await receive())["type"] == "websocket.receive":
            await connection.send(_content(message))
    except ConnectionClosed:
        return  # the other direction tells the client
    code = message.get("code") or _CLOSE_NORMAL
    await connection.close(_NOT_SENT.get(code, code), message.get("reason") or "")


def _frame(message: str | bytes) -> Message:
    return {"type": "websocket.send", "text" if isinstance(message, str) else "bytes": message}


def _content(message: Message) -> Any:
    text = message.get("text")
    return message["bytes"] if text is None else text
