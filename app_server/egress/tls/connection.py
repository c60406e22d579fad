"""The TLS connection between a program in a sandbox and the egress proxy, which answers in place of the real
host.

It does not use asyncio's TLS, which can start only before any data was read. A sandbox may send TLS data
together with its CONNECT request, so some TLS data may already have been read.
"""

import ssl
from contextlib import suppress

from app_server.egress.pinned_connector import PinnedConnection

PIECE_BYTES = 64 * 1024


class TlsSide:
    """The egress proxy's side of a TLS connection with a program in a sandbox. The proxy is the TLS server of
    this connection. The object reads and writes the decrypted data; reading and writing may happen at the
    same time.

    line: the connection that carries the TLS data. early: TLS data that was already read from `line`.
    """

    def __init__(self, line: PinnedConnection, context: ssl.SSLContext, early: bytes = b"") -> None:
        self._line = line
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._incoming.write(early)

    async def shake_hands(self) -> None:
        """Does the TLS handshake with the program in the sandbox. Raises ssl.SSLError if the handshake fails,
        most often because the program does not trust the proxy's certificate.
        """
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
        """Waits for decrypted data and returns it, at most `size` bytes. Returns empty bytes if the
        connection has ended. Raises ssl.SSLError if the received data is not valid TLS.
        """
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
        """Informs the program in the sandbox that no more data follows, with a TLS close message. Without
        this message, the program would regard a reply as incomplete.
        """
        with suppress(ssl.SSLError):  # the reply of the sandbox is not read
            self._tls.unwrap()
        await self.drain()

    async def _receive(self) -> None:
        if piece := await self._line.reader.read(PIECE_BYTES):
            self._incoming.write(piece)
        else:
            self._incoming.write_eof()
