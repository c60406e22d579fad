"""Reads git's packet lines. A packet line begins with its length as four hexadecimal digits. `0000` is a
flush packet, which ends a list of lines.

Source: gitprotocol-common(5).
"""

import re
from collections.abc import AsyncIterator, Iterator

MAX_LINE_BYTES = 65520
MAX_DATA_BYTES = MAX_LINE_BYTES - 4
FLUSH = b"0000"


class ProtocolError(Exception):
    """The error that is raised if received bytes do not follow git's protocol. Users see its message."""


def encode(line: bytes) -> bytes:
    return b"%04x" % (len(line) + 4) + line


def length_of(head: bytes) -> int:
    """Returns the number of bytes that follow the first four bytes of a packet line. `head`: these four
    bytes, hexadecimal digits that state the length. Returns 0 for a flush packet. Raises ProtocolError if the
    digits are not a valid length.
    """
    try:
        size = int(head, 16) if head.isalnum() else -1
    except ValueError:
        size = -1
    if size != 0 and not 4 < size <= MAX_LINE_BYTES:
        raise ProtocolError("The length of a packet line is not valid.")
    return size - 4 if size else 0


def lines_of(data: bytes) -> Iterator[bytes]:
    """Yields the contents of the packet lines in `data`, without their lengths, up to a flush packet or the
    end of the data. Raises ProtocolError if a line is incomplete.
    """
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
    """A reader of the HTTP request body of a git push. It reads packet lines one by one, and then the rest of
    the body in pieces.

    It stores the bytes in a bytearray, which can drop bytes at its beginning and add bytes at its end without
    a copy of the other bytes. Therefore the processing time grows only linearly with the number of bytes.
    """

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self._held = bytearray()
        self._seen = bytearray()

    @property
    def seen(self) -> bytes:
        """The bytes of all packet lines that were read so far, unchanged."""
        return bytes(self._seen)

    @property
    def seen_bytes(self) -> int:
        return len(self._seen)

    async def line(self) -> bytes | None:
        """Returns the next packet line of the body. Returns None for a flush packet. Raises ProtocolError if
        the line is not valid or the body ends.
        """
        size = length_of(await self._exactly(4))
        return await self._exactly(size) if size else None

    def take(self, lines: re.Pattern[bytes]) -> bytes:
        """Reads many packet lines at once, which is faster than many calls of `line`. Matches the regular
        expression `lines` at the first unread byte, and returns the matching bytes. Returns no bytes if the
        expression does not match there.

        `lines`: must match only whole packet lines. Only bytes that have already arrived are matched; the
        method does not wait for more.
        """
        match = lines.match(self._held)
        size = match.end() if match else 0
        del match  # while it exists, the bytearray cannot be cut
        return self._taken(size)

    async def rest(self) -> AsyncIterator[bytes]:
        """Yields the part of the request body that has not been read yet, in pieces. A piece is yielded only
        once. So if a caller stops the iteration early, a second call of this method yields the pieces that
        follow.
        """
        while True:
            piece = bytes(self._held)
            self._held.clear()
            if not piece and not (piece := await anext(self._pieces, b"")):
                return
            yield piece

    async def drain(self) -> None:
        """Reads the request body to its end and discards it, because a git client reads no reply until it has
        sent the whole body.
        """
        async for _ in self.rest():
            pass

    async def _exactly(self, size: int) -> bytes:
        while len(self._held) < size:
            piece = await anext(self._pieces, b"")
            if not piece:
                raise ProtocolError("The request ended in the middle of a packet line.")
            self._held += piece
        return self._taken(size)

    def _taken(self, size: int) -> bytes:
        taken = bytes(self._held[:size])
        del self._held[:size]
        self._seen += taken
        return taken
