"""Sends one HTTP request of a program in a sandbox to the called host, and sends the host's reply to the
program. The egress proxy, through which sandboxes reach the network, uses this module.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import h11

from agent_runtime.time_limits import time_limit
from app_server.egress.client_connection import (
    MAX_HEAD_BYTES,
    PIECE_BYTES,
    ClientSide,
    Malformed,
    ProxyRequest,
)
from app_server.egress.package_cache.cache import SENT, CacheWriter
from app_server.egress.pinned_connector import PinnedConnection
from app_server.egress.tunnel import Traffic
from app_server.http.outgoing_proxy import UpstreamProxy
from app_server.http.response_redaction import ResponseRedaction

ANSWER_SECONDS = 600.0

_HOP_BY_HOP = frozenset(
    b"connection expect host keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer "
    b"transfer-encoding upgrade".split()
)


class Broken(Exception):
    """The error that is raised when a request cannot be completed, because the host closed the connection too
    early or its reply is not valid HTTP.
    """


@dataclass(frozen=True)
class Changes:
    """The changes that the egress proxy makes to a request of a sandbox and to the host's reply.

    default_port: the default port of the scheme; the Host header contains only other ports. proxy: the
    upstream proxy (an outgoing proxy of the server's network) to which the request is sent; None if it is
    sent to the host. dropped: names of headers to remove from the request, in lower case. added: headers to
    add to the request. redaction: masks the secrets of the added headers in the reply.

    cache_writer: stores the reply in the package cache; None if the reply is not stored. If it is given, the
    request gets the fixed headers SENT of `package_cache/cache.py` in place of the headers that the program
    in the sandbox has sent. So the program cannot influence the stored reply.
    """

    default_port: int = 80
    proxy: UpstreamProxy | None = None
    dropped: frozenset[bytes] = frozenset()
    added: Sequence[tuple[bytes, bytes]] = field(default=(), repr=False)
    redaction: ResponseRedaction = field(default_factory=lambda: ResponseRedaction(()))
    cache_writer: CacheWriter | None = None


async def pass_on(
    client: ClientSide,
    asked: ProxyRequest,
    world: PinnedConnection,
    traffic: Traffic,
    changes: Changes | None = None,
) -> None:
    """Sends the request `asked` over the connection `world` to the called host, and sends the host's reply to
    the program in the sandbox. Adds the numbers of bytes to `traffic`. The connection `world` cannot be used
    for another request afterwards.

    `changes`: what the egress proxy changes in the request and in the reply; None means nothing. Raises
    Malformed if the body of the request is incomplete. Raises Broken if the reply is incomplete or not valid
    HTTP. Raises OSError if a connection is lost. Raises TimeoutError if the host does not reply in time.
    """
    changes = changes or Changes()
    http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
    sending = asyncio.create_task(
        _send(client, _request(asked, changes), http, world, traffic), name="egress request"
    )
    answering = asyncio.create_task(_answer(client, changes, http, world, traffic), name="egress answer")
    try:
        await asyncio.wait({sending, answering}, return_when=asyncio.FIRST_COMPLETED)
        if sending.done() and isinstance(failure := sending.exception(), Malformed):
            raise failure
        # The reply may end before the whole request was sent. The rest of the request is then not needed.
        await answering
    finally:
        sending.cancel()
        answering.cancel()
        await asyncio.gather(sending, answering, return_exceptions=True)
        if changes.cache_writer:
            await changes.cache_writer.drop()


async def _send(
    client: ClientSide, request: h11.Request, http: h11.Connection, world: PinnedConnection, traffic: Traffic
) -> None:
    async def out(event: h11.Request | h11.Data | h11.EndOfMessage) -> None:
        content = http.send(event) or b""
        traffic.sent += len(content)
        world.writer.write(content)
        await world.writer.drain()

    await out(request)
    async for piece in client.body():
        await out(h11.Data(data=piece))
    await out(h11.EndOfMessage())


def _request(asked: ProxyRequest, changes: Changes) -> h11.Request:
    """Returns the request that is sent to the host, with the changes applied. The Host header names the host
    of the request's address, which the egress proxy has checked. A Host header that the program in the
    sandbox has sent is removed, because it could name a host that was not checked.
    """
    host = f"[{asked.host}]" if ":" in asked.host else asked.host
    authority = host if asked.port == changes.default_port else f"{host}:{asked.port}"
    headers = [(b"host", authority.encode())]
    target = asked.path or "/"
    if changes.proxy:
        target = f"http://{authority}{target}"
        if changes.proxy.authorization:
            headers.append((b"proxy-authorization", changes.proxy.authorization.encode()))
    is_chunked = asked.header("transfer-encoding") != ""
    # A request with chunks must not have a length, because two servers could read it in two ways.
    framed = {b"content-length"} if is_chunked else set[bytes]()
    named = {name.strip().lower().encode() for name in asked.header("connection").split(",")}
    passed = [
        (name, value)
        for name, value in (SENT if changes.cache_writer else asked.request.headers)
        if name not in _HOP_BY_HOP | named | framed | changes.dropped
    ]
    framing = [(b"transfer-encoding", b"chunked")] if is_chunked else []
    return h11.Request(
        method=asked.request.method,
        target=target,
        headers=[*headers, *passed, *changes.added, *framing, (b"connection", b"close")],
    )


async def _answer(
    client: ClientSide, changes: Changes, http: h11.Connection, world: PinnedConnection, traffic: Traffic
) -> None:
    redaction, cache_writer = changes.redaction, changes.cache_writer
    while True:
        event = await _next_event(http, world, traffic)
        if isinstance(event, h11.Response):
            headers = [
                (name, redaction.hide(value)) for name, value in event.headers if name not in _HOP_BY_HOP
            ]
            if cache_writer:
                await cache_writer.begin(event)
            await client.send(
                h11.Response(
                    status_code=event.status_code, headers=headers, reason=redaction.hide(bytes(event.reason))
                )
            )
        elif isinstance(event, h11.Data):
            await _pass_piece(client, cache_writer, redaction.feed(bytes(event.data)))
        elif isinstance(event, h11.EndOfMessage):
            await _pass_piece(client, cache_writer, redaction.flush())
            if cache_writer:
                await cache_writer.finish()
            await client.send(h11.EndOfMessage())
            return
        elif not isinstance(event, h11.InformationalResponse):
            raise Broken


async def _pass_piece(client: ClientSide, cache_writer: CacheWriter | None, piece: bytes) -> None:
    if not piece:
        return
    if cache_writer:
        await cache_writer.feed(piece)
    await client.send(h11.Data(data=piece))


async def _next_event(
    http: h11.Connection, world: PinnedConnection, traffic: Traffic
) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
    while True:
        try:
            event = http.next_event()
            if event is not h11.NEED_DATA:
                return event
            async with time_limit(ANSWER_SECONDS):
                content = await world.reader.read(PIECE_BYTES)
            traffic.received += len(content)
            http.receive_data(content)
        except (h11.RemoteProtocolError, ConnectionError) as error:
            raise Broken from error
