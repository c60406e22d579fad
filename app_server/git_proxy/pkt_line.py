"""Git's framing: four hexadecimal digits of length, then the line; `0000` is a flush.

Source: gitprotocol-common(5).
"""

from collections.abc import AsyncIterator, Iterator

MAX_LINE_BYTES = 65520
MAX_DATA_BYTES = MAX_LINE_BYTES - 4
FLUSH = b"0000"


class ProtocolError(Exception):
    """What was read is not what git sends. The text is for people."""


def encode(line: bytes) -> bytes:
    return b"%04x" % (len(line) + 4) + line


def length_of(head: bytes) -> int:
    """How long the line is, without its head; 0 for a flush. Raises ProtocolError."""
    try:
        size = int(head, 16) if head.isalnum() else -1
    except ValueError:
        size = -1
    if size != 0 and not 4 < size <= MAX_LINE_BYTES:
        raise ProtocolError("The length of a packet line is not valid.")
    return size - 4 if size else 0


def lines_of(data: bytes) -> Iterator[bytes]:
    """All lines up to a flush or the end. Raises ProtocolError for one that is cut off."""
    at = 0
    while at < len(data):
        size = length_of(data[at : at + 4])
        if size == 0:
            return
        at += 4
        if at + size > len(data):
            raise ProtocolError("A packet line is cut off.")
        yield data[at : at + size]
        at += size


class Reader:
    """A body that is read in lines first, and passed on in pieces then.

    The work grows with the bytes that come, not with their square: bytearrays give up their beginning, and
    take more at their end, without a copy of the rest.
    """

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self._held = bytearray()
        self._seen = bytearray()

    @property
    def seen(self) -> bytes:
        """What was read in lines, byte for byte."""
        return bytes(self._seen)

    @property
    def seen_bytes(self) -> int:
        return len(self._seen)

    async def line(self) -> bytes | None:
        """The next line; None for a flush. Raises ProtocolError, also at the end of the body."""
        size = length_of(await self._exactly(4))
        return await self._exactly(size) if size else None

    async def rest(self) -> AsyncIterator[bytes]:
        """What has not been read yet. May be asked for again, after what was taken."""
        while True:
            piece = bytes(self._held)
            self._held.clear()
            if not piece and not (piece := await anext(self._pieces, b"")):
                return
            yield piece

    async def drain(self) -> None:
        """Reads on to the end: a client that still sends does not listen."""
        async for _ in self.rest():
            pass

    async def _exactly(self, size: int) -> bytes:
        while len(self._held) < size:
            piece = await anext(self._pieces, b"")
            if not piece:
                raise ProtocolError("The request ended in the middle of a packet line.")
            self._held += piece
        taken = bytes(self._held[:size])
        del self._held[:size]
        self._seen += taken
        return taken
