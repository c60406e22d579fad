"""A sandbox's connection as the proxy reads it where it speaks for the host: TLS, ended here.

asyncio can turn a connection to TLS only before anything of it was read; what the sandbox has sent with its
CONNECT already was.
"""

import ssl
from contextlib import suppress

from app_server.egress.pinned_connector import PinnedConnection

PIECE_BYTES = 64 * 1024


class TlsSide:
    """A reader and a writer of what is inside. Reading and writing may go on at the same time."""

    def __init__(self, line: PinnedConnection, context: ssl.SSLContext, early: bytes = b"") -> None:
        self._line = line
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._incoming.write(early)

    async def shake_hands(self) -> None:
        """Raises ssl.SSLError: above all when the sandbox does not trust us."""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                await self.drain()
                await self._receive()
            except ssl.SSLError:
                await self.drain()
                raise
            else:
                return await self.drain()

    async def read(self, size: int = PIECE_BYTES, /) -> bytes:
        """Raises ssl.SSLError."""
        while True:
            try:
                return self._tls.read(size)
            except ssl.SSLWantReadError:
                await self.drain()
                await self._receive()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""

    def write(self, content: bytes, /) -> None:
        rest = memoryview(content)
        while rest:
            rest = rest[self._tls.write(rest) :]

    async def drain(self) -> None:
        if ready := self._outgoing.read():
            self._line.writer.write(ready)
        await self._line.writer.drain()

    async def end(self) -> None:
        """Says that no more follows: without it clients take an answer for cut off."""
        with suppress(ssl.SSLError):  # no one waits for the sandbox's answer
            self._tls.unwrap()
        await self.drain()

    async def _receive(self) -> None:
        if piece := await self._line.reader.read(PIECE_BYTES):
            self._incoming.write(piece)
        else:
            self._incoming.write_eof()
