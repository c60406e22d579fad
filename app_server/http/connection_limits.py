"""Limits how many connections a listening socket has, and how long a client may take to send the headers of a
request.

Each connection uses a file descriptor from its start, and every program that reaches a port can open
connections. Connections that send nothing are closed, so that one client cannot use up all descriptors.
"""

import asyncio
import errno
import logging
import resource
import time
from collections import defaultdict
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

from uvicorn import Config as ServerConfig
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

logger = logging.getLogger(__name__)

HEAD_SECONDS = 10.0
"""How many seconds a client may take to send the headers of a request. For the first request of a connection,
the time begins when the connection opens. For a later request, it begins with the first byte of the request.
"""

_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_REPORT_SECONDS = 60.0
_SECONDS_BETWEEN_LOOKS = 1.0
_MIN_CONNECTIONS = 64
_LOOPBACK = "loopback"
_IPV6_PREFIX = 64


class ConnectionLimits:
    """A counter of the open connections of one or several listening sockets, in total and for each client
    address.

    For connections from this machine, only the total limit applies, because several sandboxes and a reverse
    proxy may share this machine's address.
    """

    def __init__(self, total: int, of_one_address: int) -> None:
        self._total = total
        self._of_one_address = of_one_address
        self._open: dict[str, set[asyncio.BaseTransport]] = defaultdict(set)
        self._last_look = time.monotonic()

    def admit(self, transport: asyncio.BaseTransport) -> bool:
        """Returns True and counts the new connection if no limit is reached. The connection is counted until
        it is closed. Returns False if a limit is reached; the caller must then close the connection.
        """
        visitor = _visitor(transport)
        self._forget_closed(
            _SECONDS_BETWEEN_LOOKS if self._has_free_connection(visitor) else _SECONDS_BETWEEN_LOOKS / 10
        )
        if not self._has_free_connection(visitor):
            return False
        self._open[visitor].add(transport)
        return True

    def _has_free_connection(self, visitor: str) -> bool:
        limit = self._total if visitor == _LOOPBACK else self._of_one_address
        count = sum(map(len, self._open.values()))
        return len(self._open.get(visitor, ())) < limit and count < self._total

    def _forget_closed(self, seconds: float) -> None:
        """Stops counting connections that are closed. Does nothing if the last check was less than `seconds`
        ago, because a check of all connections takes too long while clients open very many connections.
        """
        if time.monotonic() - self._last_look < seconds:
            return
        self._last_look = time.monotonic()
        for visitor, transports in list(self._open.items()):
            transports.difference_update([one for one in transports if _is_closed(one)])
            if not transports:
                del self._open[visitor]


def limits_for_sandboxes() -> ConnectionLimits:
    """Returns the limits for connections of sandboxes. Together, these connections may use at most a third of
    the file descriptors of this process. Each connection may need a second descriptor, for a connection to
    the internet.
    """
    return _limits(total=3, of_one_address=6)


def limits_for_visitors() -> ConnectionLimits:
    return _limits(total=2, of_one_address=3)


def _limits(*, total: int, of_one_address: int) -> ConnectionLimits:
    """Returns limits that are fractions of the number of file descriptors that this process may open.
    `total`: for example, 3 means that all connections together may be a third of this number.
    `of_one_address`: the same for the connections of one client address. Each limit is at least
    _MIN_CONNECTIONS.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    available = soft if soft != resource.RLIM_INFINITY else 1024**2
    return ConnectionLimits(
        max(_MIN_CONNECTIONS, available // total), max(_MIN_CONNECTIONS, available // of_one_address)
    )


class Deadline:
    """A timer that aborts a connection after `seconds`. A call of the method `met` before this time stops the
    timer.
    """

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, transport.abort)

    def met(self) -> None:
        self._timer.cancel()


def limited_http(limits: ConnectionLimits | None, head_seconds: float = HEAD_SECONDS) -> type["LimitedHttp"]:
    """Returns a class of HTTP connections for the web server uvicorn. A new connection of this class is
    closed if a limit of `limits` is reached. Each connection is closed if the headers of a request do not
    arrive in time.

    `limits`: None means that this class does not count its connections, because the caller counts them.
    `head_seconds`: how many seconds a client may take to send the headers of a request.
    """

    class Limited(LimitedHttp):
        connection_limits = limits
        seconds = head_seconds

    return Limited


class LimitedHttp(HttpToolsProtocol):
    connection_limits: ConnectionLimits | None = None
    seconds = HEAD_SECONDS

    def __init__(
        self,
        config: ServerConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.connection_limits and not self.connection_limits.admit(transport):
            transport.abort()
            return
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_complete()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._deadline is None:
            self._expect_head()

    def on_headers_complete(self) -> None:
        self._head_is_complete()
        super().on_headers_complete()

    def _expect_head(self) -> None:
        self._deadline = self.loop.call_later(self.seconds, self._cut_off)

    def _head_is_complete(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _cut_off(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._expect_head()  # an earlier request on the connection is still being answered
        else:
            self.transport.abort()


def throttle_accept_errors() -> None:
    """Makes the event loop log at most once a minute that a connection could not be accepted. Without this,
    asyncio would log the error thousands of times.
    """
    loop = asyncio.get_running_loop()
    last_report = -_REPORT_SECONDS

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal last_report
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in _EXHAUSTED and "socket" in context):
            loop.default_exception_handler(context)
        elif time.monotonic() - last_report >= _REPORT_SECONDS:
            last_report = time.monotonic()
            logger.error(
                "no connection can be accepted: the process has no file descriptors or memory left",
                extra={"cause": errno.errorcode[error.errno]},
            )

    loop.set_exception_handler(handle)


def _visitor(transport: asyncio.BaseTransport) -> str:
    """Returns the client address under which a connection is counted. For IPv6 this is the network of the
    address's first 64 bits (/64), because one machine can have all addresses of such a network.
    """
    peer = transport.get_extra_info("peername")
    if not isinstance(peer, tuple):
        return _LOOPBACK
    try:
        address = ip_address(str(peer[0]).partition("%")[0])
    except ValueError:
        return str(peer[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if address.is_loopback:
        return _LOOPBACK
    if isinstance(address, IPv6Address):
        return str(ip_network((address, _IPV6_PREFIX), strict=False))
    return str(address)


def _is_closed(transport: asyncio.BaseTransport) -> bool:
    """Returns whether the connection has released its file descriptor. Returns False for a connection that is
    still closing.
    """
    socket = transport.get_extra_info("socket")
    return socket is None or socket.fileno() < 0
