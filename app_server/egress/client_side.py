"""The connection between a program in a sandbox and the proxy: reads the program's requests and sends
replies. h11 handles the HTTP syntax.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol

import h11

from app_server.egress.answers import REASON_HEADER, ProxyAnswer

MAX_HEAD_BYTES = 32 * 1024
NEXT_HEAD_SECONDS = 60.0
"""Time limit for the head of further requests, after the connection's sandbox is known."""
PIECE_BYTES = 64 * 1024
_MAX_CLIENT_CHARACTERS = 40


class Malformed(Exception):
    """The data that a program in a sandbox has sent is not a request that a proxy can handle."""


class ByteReader(Protocol):
    async def read(self, size: int, /) -> bytes: ...


class ByteWriter(Protocol):
    def write(self, content: bytes, /) -> None: ...

    async def drain(self) -> None: ...


@dataclass(frozen=True)
class Asked:
    """A request of a program in a sandbox to the proxy.

    `path`: the path of a plain request; None for CONNECT. `host`: the text that the client wrote, not checked
    yet.
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
        """Returns the name that the program gives itself in the request. The name is only for display and
        must not be trusted.
        """
        word = self.header("user-agent").split(" ")[0]
        return "".join(one for one in word if one.isascii() and one.isprintable())[:_MAX_CLIENT_CHARACTERS]


ReadRequest = Callable[[h11.Request], Asked]


def of_proxy(request: h11.Request) -> Asked:
    """Returns the parsed form of a request that is addressed to a proxy. Raises Malformed."""
    target = request.target.decode("ascii")
    if request.method == b"CONNECT":
        host, port = _authority(target, default_port=None)
        return Asked(request, host, port, None)
    scheme, _, rest = target.partition("://")
    if scheme.lower() != "http":
        raise Malformed("not an http:// address in full")
    cut = min((rest.index(mark) for mark in "/?#" if mark in rest), default=len(rest))
    authority, path = rest[:cut], rest[cut:].partition("#")[0]
    host, port = _authority(authority, default_port=80)
    return Asked(request, host, port, path if path.startswith("/") else f"/{path}")


def of_host(host: str, port: int) -> ReadRequest:
    """Returns a parser for requests that are addressed directly to this host instead of to a proxy. The
    parser raises Malformed.
    """

    def read(request: h11.Request) -> Asked:
        target = request.target.decode("ascii")
        if request.method == b"CONNECT" or not (target.startswith("/") or target == "*"):
            raise Malformed("not a path")
        return Asked(request, host, port, target.partition("#")[0])

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
        """Sets up the connection. head_seconds: the time limit for the head of the first request."""
        self._head_seconds = head_seconds
        self._reader = reader
        self._writer = writer
        self._read = read
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)

    async def next_request(self) -> Asked | None:
        """Returns the next request of the connection. Returns None if there are no more requests. Raises
        Malformed, TimeoutError.
        """
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        if self._http.our_state is not h11.IDLE:
            return None
        async with asyncio.timeout(self._head_seconds):
            event = await self._next_event()
        self._head_seconds = NEXT_HEAD_SECONDS
        if not isinstance(event, h11.Request):
            return None
        return self._read(event)

    async def body(self) -> AsyncIterator[bytes]:
        """Yields the pieces of the request's body. Raises Malformed if the body is incomplete."""
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
        """Accepts a CONNECT request. Returns the data that the client has already sent after the request."""
        await self.send(h11.Response(status_code=200, headers=[], reason=b"Connection established"))
        return self._http.trailing_data[0]

    async def refuse(self, answer: ProxyAnswer) -> None:
        """Sends a refusal as the reply to the request. Does nothing if a reply has already begun."""
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
    """Returns the host and the port of the text `host:port`. Raises Malformed, also for a user name in the
    text, which could disguise the host.
    """
    host, colon, digits = text.rpartition(":")
    if not colon or digits.endswith("]"):
        host, digits = text, "" if default_port is None else str(default_port)
    if not (digits.isascii() and digits.isdecimal() and 1 <= int(digits[:6]) <= 65535):
        raise Malformed("no port")
    if not host or any(mark in host for mark in "@\\/%"):
        raise Malformed("no host")
    return host, int(digits)
