"""The server to which a request is relayed, and the headers that are sent to this server."""

import socket as sockets
import ssl
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

Header = tuple[bytes, bytes]
Dial = Callable[[str, int], Awaitable[sockets.socket]]
"""A function that opens a connection to an address and a port in a special way, for example in another
network namespace. Raises OSError if the connection cannot be opened.
"""

CONNECT_SECONDS = 10.0

_HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"}
    | {b"te", b"trailer", b"transfer-encoding", b"upgrade"}
)


@dataclass(frozen=True)
class Target:
    """The server to which a request is relayed, together with the request's path and headers. The server has
    the address `host`:`port`. If `socket` is not None, the server is reached on this Unix socket instead.

    For a WebSocket, `dial` is the function that opens the connection; None means an ordinary TCP connection.
    `tls` contains the TLS settings; None means no TLS. For an HTTP request, the httpx transport opens the
    connection. It ignores `dial`, and uses `tls` only to choose between `http` and `https`.

    `path`: the path of the request as it is sent, with the query. `headers`: all headers of the request, with
    names in lower case, including `host` and without headers that state the length of the body.
    """

    host: str
    port: int
    path: bytes
    headers: list[Header]
    socket: Path | None = None
    tls: ssl.SSLContext | None = None
    dial: Dial | None = None

    @property
    def url_host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


class TargetSilentError(Exception):
    """The error that is raised when the server to which a request is relayed gave no reply. Nothing has been
    sent to the client yet, so the caller can still send an error.

    `was_reached`: whether the server received the request or a part of it.
    """

    def __init__(self, reason: str, *, was_reached: bool) -> None:
        super().__init__(reason)
        self.was_reached = was_reached


def end_to_end(headers: Iterable[Header]) -> list[Header]:
    """Returns the headers that a proxy must pass on, with names in lower case. Hop-by-hop headers, which
    apply only to one connection, are left out.
    """
    lower = [(name.lower(), value) for name, value in headers]
    named = {
        token.strip().lower() for name, value in lower if name == b"connection" for token in value.split(b",")
    }
    return [(name, value) for name, value in lower if name not in _HOP_BY_HOP and name not in named]


def without(headers: Iterable[Header], names: Iterable[bytes]) -> list[Header]:
    gone = frozenset(names)
    return [(name, value) for name, value in headers if name not in gone]


def first(headers: Iterable[Header], wanted: bytes) -> bytes | None:
    return next((value for name, value in headers if name.lower() == wanted), None)
