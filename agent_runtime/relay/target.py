"""The server that an exchange is relayed to, and the headers to send."""

import socket as sockets
import ssl
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

Header = tuple[bytes, bytes]
Dial = Callable[[str, int], Awaitable[sockets.socket]]
"""Opens a connection to an address and port in a special way. Raises OSError."""

CONNECT_SECONDS = 10.0

_HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"}
    | {b"te", b"trailer", b"transfer-encoding", b"upgrade"}
)


@dataclass(frozen=True)
class Target:
    """The server at `host`:`port` that a request is relayed to, with the path and headers of the request. If
    `socket` is given, the server is reached on this Unix socket.

    `dial`: opens the connection of a WebSocket; None means an ordinary TCP connection. `tls`: the TLS
    settings of a WebSocket; None means no TLS. For HTTP, the transport has both.

    `path`: the path as it is sent, with the query. `headers`: all headers except those that frame the body,
    with names in lower case, `host` included.
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
    """The server that a request is relayed to gave no reply. Nothing has been sent to the client yet.

    `was_reached`: whether the server received the request or a part of it.
    """

    def __init__(self, reason: str, *, was_reached: bool) -> None:
        super().__init__(reason)
        self.was_reached = was_reached


def end_to_end(headers: Iterable[Header]) -> list[Header]:
    """Returns the headers that proxies must pass on (no hop-by-hop headers), with names in lower case."""
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
