"""A proxy on loopback through which commands reach the internet. This proxy adds this server's session key,
which the app server requires and commands do not know, and forwards connections to the app server's proxy.

On each connection, this proxy reads only the request line and the headers of the first request. The app
server's proxy does all other work.
"""

import asyncio
import re
from collections.abc import Callable
from urllib.parse import urlsplit

from agent_runtime.time_limits import time_limit
from agent_runtime.workspace.environment import set_way_out
from agent_runtime.workspace.network import listen

LOOPBACK = "127.0.0.1"
MAX_HEAD_BYTES = 32 * 1024
HEAD_SECONDS = 60.0
CONNECT_SECONDS = 15.0
PIECE_BYTES = 64 * 1024

_END = b"\r\n\r\n"
_CREDENTIALS = re.compile(rb"(?im)^proxy-authorization:[^\n]*\n")
_UNREACHABLE = (
    b"HTTP/1.1 502 Slipway: the way out is closed at the moment\r\n"
    b"Content-Length: 0\r\n"
    b"Connection: close\r\n\r\n"
)


class EgressRelay:
    """A relay that forwards network connections of commands to the app server's proxy.

    `proxy_url`: the URL of the app server's proxy. `session_key`: a function that returns the current session
    key, which the proxy requires.
    """

    def __init__(self, proxy_url: str, session_key: Callable[[], str | None]) -> None:
        parts = urlsplit(proxy_url)
        self._host, self._port = parts.hostname or LOOPBACK, parts.port or 80
        self._session_key = session_key
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, port: int) -> None:
        """Starts to listen on loopback and sets the environment variables that make this relay the proxy of
        commands that start later. `port`: the port to listen on; 0 means any free port.

        Raises OSError if the relay cannot listen.
        """
        listener = await listen(LOOPBACK, port)
        self._server = await asyncio.start_server(self._accept, sock=listener, limit=MAX_HEAD_BYTES)
        found = self._server.sockets[0].getsockname()[1]
        set_way_out(f"http://{LOOPBACK}:{found}")

    async def close(self) -> None:
        set_way_out(None)
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer), name="egress relay")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with time_limit(HEAD_SECONDS):
                head = await reader.readuntil(_END)
            await self._relay(head, reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return  # the command has ended the connection itself
        finally:
            await _close(writer)

    async def _relay(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with time_limit(CONNECT_SECONDS):
                proxy_reader, proxy_writer = await asyncio.open_connection(self._host, self._port)
        except (OSError, TimeoutError):
            writer.write(_UNREACHABLE)
            return
        try:
            proxy_writer.write(self._with_key(head))
            ways = (_pump(reader, proxy_writer), _pump(proxy_reader, writer))
            await _both(*(asyncio.create_task(way) for way in ways))
        finally:
            await _close(proxy_writer)

    def _with_key(self, head: bytes) -> bytes:
        """Returns the first request of a connection with the session key in the header Proxy-Authorization,
        which the app server's proxy requires. `head`: the request line and the headers. One request with the
        key is enough for the whole connection.
        """
        request_line, _, headers = head.partition(b"\r\n")
        credentials = f"Proxy-Authorization: Bearer {self._session_key()}\r\n".encode()
        return request_line + b"\r\n" + credentials + _CREDENTIALS.sub(b"", headers)


async def _both(*ways: "asyncio.Task[None]") -> None:
    """Waits until both tasks have ended or one has failed. Then cancels a task that still runs."""
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(PIECE_BYTES):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    try:
        await writer.wait_closed()
    except OSError:
        return  # the other side was faster
