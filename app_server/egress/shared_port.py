"""Serves two kinds of connections on the port for sandboxes (`inner_port`): requests to the app server's
routes for sandboxes, and connections to the egress proxy.

A connection goes to the egress proxy if it begins like a request to an HTTP proxy: with CONNECT, or with a
method and a complete http:// URL, such as `GET http://host/path`. All other connections go to uvicorn's HTTP
protocol. The decision is made before ASGI, because ASGI does not support CONNECT.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

from uvicorn import Config as ServerConfig
from uvicorn.server import ServerState

from app_server.http.connection_limits import (
    HEAD_SECONDS,
    ConnectionLimits,
    Deadline,
    LimitedHttp,
    limited_http,
    limits_for_sandboxes,
)

logger = logging.getLogger(__name__)

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

_PROXIED = re.compile(rb"CONNECT |[A-Z]{1,20} [Hh][Tt][Tt][Pp]://", re.ASCII)
_DECIDED_BYTES = 30
_LONGEST_METHOD = 20


def same_port(
    serve: Serve, limits: ConnectionLimits | None = None, head_seconds: float = HEAD_SECONDS
) -> type[asyncio.Protocol]:
    """Returns a protocol class for uvicorn, for connections to the port for sandboxes. If the first bytes of
    a connection are a request to the egress proxy, the class gives the connection to the function `serve`.
    All other connections go to uvicorn's HTTP protocol.

    limits: the maximum numbers of connections; None means the default limits for connections of sandboxes.
    head_seconds: the time limit in seconds for the first bytes of a connection, and then for the head of an
    HTTP request.
    """
    http = limited_http(None, head_seconds)
    counted = limits or limits_for_sandboxes()

    class SharedPort(_SharedPort):
        proxy = staticmethod(serve)
        http_protocol = http
        connection_limits = counted
        seconds = head_seconds

    return SharedPort


class _SharedPort(asyncio.Protocol):
    proxy: Serve
    http_protocol: type[LimitedHttp]
    connection_limits: ConnectionLimits
    seconds: float

    def __init__(
        self,
        config: ServerConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        # No closure over self: the cycle would keep each ended connection until a full collection.
        self._of_server = (config, server_state, app_state, _loop)
        # At its end, the server calls `shutdown` of each connection in this set.
        self._connections: set[Any] = server_state.connections
        self._tasks = server_state.tasks
        self._transport: asyncio.Transport | None = None
        self._begun = b""
        self._deadline: Deadline | None = None
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if not self.connection_limits.admit(transport):
            transport.abort()
            return
        self._connections.add(self)
        self._deadline = Deadline(transport, self.seconds)

    def data_received(self, data: bytes) -> None:
        self._begun += data
        if _PROXIED.match(self._begun):
            self._hand_over_to_proxy()
        elif _is_decided(self._begun):
            self._hand_over_to_http()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._deadline_is_met()
        self._connections.discard(self)

    def shutdown(self) -> None:
        """Ends the connection because the server shuts down. Cancels the task that serves the connection if
        the connection was given to the egress proxy.
        """
        if self._task:
            self._task.cancel()
        elif self._transport:
            self._transport.close()

    def _hand_over_to_http(self) -> None:
        assert self._transport
        self._deadline_is_met()
        self._connections.discard(self)
        http = self.http_protocol(*self._of_server)
        self._transport.set_protocol(http)
        http.connection_made(self._transport)
        http.data_received(self._begun)

    def _hand_over_to_proxy(self) -> None:
        assert self._transport
        self._deadline_is_met()
        reader = asyncio.StreamReader()
        streams = asyncio.StreamReaderProtocol(reader)
        self._transport.set_protocol(streams)
        streams.connection_made(self._transport)
        reader.feed_data(self._begun)
        writer = asyncio.StreamWriter(self._transport, streams, reader, asyncio.get_running_loop())
        self._task = asyncio.create_task(self._run(reader, writer), name="egress")
        self._tasks.add(self._task)
        self._task.add_done_callback(self._tasks.discard)

    def _deadline_is_met(self) -> None:
        if self._deadline:
            self._deadline.met()

    async def _run(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await type(self).proxy(reader, writer)
        except Exception:
            # No code waits for this task, so its error must be logged here.
            logger.exception("a connection to the outside failed")
        finally:
            writer.close()
            self._connections.discard(self)


def _is_decided(begun: bytes) -> bool:
    """Returns whether the first bytes of a connection show that it must go to uvicorn and not to the egress
    proxy. Returns False if more bytes are needed to decide.

    `begun`: all bytes that were received on the connection until now. The caller has already handled the case
    that they are the beginning of a request to the egress proxy.
    """
    method, space, rest = begun.partition(b" ")
    if not space:
        return len(method) > _LONGEST_METHOD or not method.isalpha()
    return not b"http://".startswith(rest[:7].lower()) or len(begun) > _DECIDED_BYTES
