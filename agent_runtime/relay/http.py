"""Relays one HTTP request to another server, and its reply to the client. Both bodies are streamed: they are
neither held in memory as a whole nor decompressed.
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
from starlette.types import Receive, Scope, Send

from agent_runtime.relay.duplex import until_either_ends
from agent_runtime.relay.target import (
    CONNECT_SECONDS,
    Dial,
    Header,
    Target,
    TargetSilentError,
    end_to_end,
    first,
    without,
)

logger = logging.getLogger(__name__)

OnReply = Callable[[int, list[Header]], list[Header]]
"""A function that gets the status and the headers of the server's reply, and returns the headers that are
sent to the client.
"""

# The server that passes the reply on adds these headers itself.
_ADDED_BY_SERVERS = (b"date", b"server")
# Headers that our own server handles before the body comes.
_NOT_PASSED_ON = (b"content-length", b"expect")
_MAX_IDLE_CONNECTIONS = 100
_TIMEOUT = {"connect": CONNECT_SECONDS, "read": None, "write": None, "pool": None}


def new_transport(
    socket: Path | None = None,
    *,
    trust: ssl.SSLContext | None = None,
    no_tls: bool = False,
    dial: Dial | None = None,
) -> httpx.AsyncHTTPTransport:
    """Returns an httpx transport for `relay_http`. The transport uses no proxies, follows no redirects, keeps
    no cookies, and has no limit for the number of connections.

    `socket`: the Unix socket to which all requests are sent. `trust`: the certificates to trust in place of
    the system's certificates. `no_tls`: True if all connections are without TLS; then the system's
    certificates are not loaded, which saves 20 ms. `dial`: a function that opens the connections, without
    TLS; with `dial`, the other arguments have no effect.
    """
    if dial is not None:
        # Imported here, because httpx also loads these modules only when they are needed.
        from agent_runtime.relay.dialer_transport import DialledTransport

        return DialledTransport(dial, max_kept=_MAX_IDLE_CONNECTIONS)
    # Certificates are not read for connections without TLS, because that takes 20 ms.
    verify, uds = trust or not (no_tls or socket), None if socket is None else str(socket)
    return httpx.AsyncHTTPTransport(
        verify=verify,
        uds=uds,
        trust_env=False,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=_MAX_IDLE_CONNECTIONS),
    )


async def relay_http(
    transport: httpx.AsyncHTTPTransport,
    target: Target,
    scope: Scope,
    receive: Receive,
    send: Send,
    on_reply: OnReply,
) -> None:
    """Sends a client's request to another server (`target`) and passes the reply on to the client. Returns
    when the reply has been passed on, when a connection broke, or when the client has disconnected. Raises
    TargetSilentError if the server gives no reply.

    `transport`: the transport from `new_transport` that sends the request. `on_reply`: a function that gets
    the status and the headers of the reply, and returns the headers for the client.
    """
    body = _Body(receive)
    request = httpx.Request(
        scope["method"],
        f"{'https' if target.tls else 'http'}://{target.url_host}:{target.port}",
        headers=[*without(target.headers, _NOT_PASSED_ON), *_framing(scope)],
        content=body.pieces() if _has_body(scope) else None,
        extensions={"target": target.path, "timeout": _TIMEOUT},
    )
    await until_either_ends(_pass_on(transport, request, body, send, on_reply), body.until_gone())


class _ClientGone(Exception):
    pass


class _Body:
    """The body of the client's request, as a stream. After the body has been read, this object also detects
    when the client disconnects.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._is_read = asyncio.Event()

    async def pieces(self) -> AsyncIterator[bytes]:
        has_more = True
        while has_more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise _ClientGone
            has_more = message.get("more_body", False)
            yield message.get("body", b"")
        self.release()

    def release(self) -> None:
        """Tells this object that the rest of the request's body is not needed. From then on, `until_gone`
        receives and drops this rest until the client disconnects. It must not begin earlier, because the body
        and the disconnection arrive through the same function `receive`.
        """
        self._is_read.set()

    async def until_gone(self) -> None:
        await self._is_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            continue


async def _pass_on(
    transport: httpx.AsyncHTTPTransport, request: httpx.Request, body: _Body, send: Send, on_reply: OnReply
) -> None:
    if isinstance(request.stream, httpx.ByteStream):
        body.release()
    try:
        reply = await transport.handle_async_request(request)
    except _ClientGone:
        return
    except (httpx.TransportError, httpx.InvalidURL) as error:
        was_reached = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        raise TargetSilentError(str(error) or type(error).__name__, was_reached=was_reached) from error
    body.release()
    try:
        await _send_reply(reply, send, on_reply)
    except httpx.TransportError as error:
        # The reply is not finished here, so our server cuts the connection. Only this tells the client that
        # the reply is incomplete.
        logger.info("a reply broke off", extra={"cause": type(error).__name__})
    finally:
        await reply.aclose()


async def _send_reply(reply: httpx.Response, send: Send, on_reply: OnReply) -> None:
    headers = without(end_to_end(reply.headers.raw), _ADDED_BY_SERVERS)
    status = reply.status_code
    await send({"type": "http.response.start", "status": status, "headers": on_reply(status, headers)})
    assert isinstance(reply.stream, httpx.AsyncByteStream)
    async for piece in reply.stream:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _has_body(scope: Scope) -> bool:
    length = first(scope["headers"], b"content-length")
    return first(scope["headers"], b"transfer-encoding") is not None or length not in {None, b"0"}


def _framing(scope: Scope) -> list[Header]:
    """Returns the headers of the relayed request that state the length of its body: the client's
    Content-Length, or nothing if the client sent no such header.

    Also returns nothing if the client sent the header Transfer-Encoding. Then the body is chunked, and
    Slipway's HTTP server has ignored Content-Length. If Content-Length were passed on, the next server could
    see another end of the body.
    """
    if first(scope["headers"], b"transfer-encoding") is not None:
        return []
    length = first(scope["headers"], b"content-length")
    return [] if length is None else [(b"content-length", length)]
