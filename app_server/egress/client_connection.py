"""The connection from a program in a sandbox to the egress proxy: reads the program's HTTP requests and sends
the replies. The library h11 parses the HTTP.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol

import h11

from agent_runtime.time_limits import time_limit
from app_server.egress.refusal_replies import REASON_HEADER, ProxyAnswer

MAX_HEAD_BYTES = 32 * 1024
NEXT_HEAD_SECONDS = 60.0
"""Time limit in seconds for the head (request line and headers) of the second and each later request of a
connection.
"""
PIECE_BYTES = 64 * 1024
_MAX_CLIENT_CHARACTERS = 40


class Malformed(Exception):
    """The error that is raised when a program in a sandbox sends data that is not a valid request to the
    egress proxy.
    """


class ByteReader(Protocol):
    async def read(self, size: int, /) -> bytes: ...


class ByteWriter(Protocol):
    def write(self, content: bytes, /) -> None: ...

    async def drain(self) -> None: ...


@dataclass(frozen=True)
class ProxyRequest:
    """A request that a program in a sandbox has sent to the egress proxy.

    host, port: where the request goes. The host is the text that the program wrote; it is not checked yet.
    path: the path and query of a plain HTTP request; None for a CONNECT request.
    """

    request: h11.Request
    host: str
    port: int
    path: str | None

    def header(self, name: str) -> str:
        values = (value for key, value in self.request.headers if key == name.encode())
        return next(values, b"").decode("latin-1")

    @property
    def client(self) -> str:
        """The name that the program gives in the first word of its User-Agent header; empty if it gives none.
        The name is only for display and must not be trusted.
        """
        word = self.header("user-agent").split(" ")[0]
        return "".join(one for one in word if one.isascii() and one.isprintable())[:_MAX_CLIENT_CHARACTERS]


ReadRequest = Callable[[h11.Request], ProxyRequest]


def of_proxy(request: h11.Request) -> ProxyRequest:
    """Parses a request that is addressed to a proxy: CONNECT, or another method with a complete http://
    address. Raises Malformed for other requests.
    """
    target = request.target.decode("ascii")
    if request.method == b"CONNECT":
        host, port = _authority(target, default_port=None)
        return ProxyRequest(request, host, port, None)
    scheme, _, rest = target.partition("://")
    if scheme.lower() != "http":
        raise Malformed("not an http:// address in full")
    cut = min((rest.index(mark) for mark in "/?#" if mark in rest), default=len(rest))
    authority, path = rest[:cut], rest[cut:].partition("#")[0]
    host, port = _authority(authority, default_port=80)
    return ProxyRequest(request, host, port, path if path.startswith("/") else f"/{path}")


def of_host(host: str, port: int) -> ReadRequest:
    """Returns a function that parses the requests inside a tunnel to this host and port. Such a request names
    only a path, because the host is known from the tunnel. The returned function raises Malformed for a
    CONNECT request, and for a request whose target is neither a path nor `*`.
    """

    def read(request: h11.Request) -> ProxyRequest:
        target = request.target.decode("ascii")
        if request.method == b"CONNECT" or not (target.startswith("/") or target == "*"):
            raise Malformed("not a path")
        return ProxyRequest(request, host, port, target.partition("#")[0])

    return read


class ClientSide:
    def __init__(
        self,
        reader: ByteReader,
        writer: ByteWriter,
        read: ReadRequest = of_proxy,
        *,
        head_seconds: float = NEXT_HEAD_SECONDS,
    ) -> None:
        """Creates the proxy's side of a connection from a program in a sandbox.

        read: the function that finds out where a request goes; by default, requests must be addressed to a
        proxy (CONNECT or a complete http:// address). head_seconds: the time limit in seconds for the head
        (request line and headers) of the first request.
        """
        self._head_seconds = head_seconds
        self._reader = reader
        self._writer = writer
        self._read = read
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)

    async def next_request(self) -> ProxyRequest | None:
        """Reads and returns the next request of the connection. Returns None if there are no more requests.
        Raises Malformed if the data is not a valid request. Raises TimeoutError if the head of the request
        (request line and headers) does not arrive in time.
        """
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        if self._http.our_state is not h11.IDLE:
            return None
        async with time_limit(self._head_seconds):
            event = await self._next_event()
        self._head_seconds = NEXT_HEAD_SECONDS
        if not isinstance(event, h11.Request):
            return None
        return self._read(event)

    async def body(self) -> AsyncIterator[bytes]:
        """Yields the body of the current request in pieces. Raises Malformed if the body is incomplete."""
        while True:
            if self._http.they_are_waiting_for_100_continue:
                await self.send(h11.InformationalResponse(status_code=100, headers=[]))
            event = await self._next_event()
            if isinstance(event, h11.EndOfMessage):
                return
            if not isinstance(event, h11.Data):
                raise Malformed("the body broke off")
            yield bytes(event.data)

    async def send(
        self, event: h11.InformationalResponse | h11.Response | h11.Data | h11.EndOfMessage
    ) -> None:
        if content := self._http.send(event):
            self._writer.write(content)
            await self._writer.drain()

    async def open_tunnel(self) -> bytes:
        """Sends the reply that accepts a CONNECT request. Returns the data that the program has already sent
        for the tunnel; empty if there is none.
        """
        await self.send(h11.Response(status_code=200, headers=[], reason=b"Connection established"))
        return self._http.trailing_data[0]

    async def refuse(self, answer: ProxyAnswer) -> None:
        """Sends `answer` as the reply to the current request. Does nothing if another reply to this request
        has already begun.
        """
        if self._http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return
        body = f"{answer.text}\n".encode()
        headers = [
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("Connection", "close"),
            (REASON_HEADER, answer.code),
        ]
        if answer.status == 407:
            headers.append(("Proxy-Authenticate", 'Bearer realm="slipway"'))
        await self.send(
            h11.Response(status_code=answer.status, headers=headers, reason=answer.phrase.encode("ascii"))
        )
        await self.send(h11.Data(data=body))
        await self.send(h11.EndOfMessage())

    async def _next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        while True:
            try:
                event = self._http.next_event()
                if event is not h11.NEED_DATA:
                    return event
                self._http.receive_data(await self._reader.read(PIECE_BYTES))
            except h11.RemoteProtocolError as error:
                raise Malformed(str(error)) from error


def _authority(text: str, *, default_port: int | None) -> tuple[str, int]:
    """Returns the host and the port of a text such as `host:port`. `default_port`: the port for a text
    without a port; None if the text must have a port.

    Raises Malformed if the host is missing, or if the port is missing or not valid. Also raises Malformed if
    the text contains `@`, `/`, `%` or a backslash before the port. For example, the user name in `user@host`
    could be mistaken for the host.
    """
    host, colon, digits = text.rpartition(":")
    if not colon or digits.endswith("]"):
        host, digits = text, "" if default_port is None else str(default_port)
    if not (digits.isascii() and digits.isdecimal() and 1 <= int(digits[:6]) <= 65535):
        raise Malformed("no port")
    if not host or any(mark in host for mark in "@\\/%"):
        raise Malformed("no host")
    return host, int(digits)
