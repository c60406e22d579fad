"""File-like objects that connect HTTP bodies with threads. The event loop sends and receives the bodies,
while threads read and write files.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from app_server.sandbox_backends.remote.wire import PIECE_BYTES

_WAITING = 16


class ReceiverGone(Exception):
    """The error that the client of a streamed reply has disconnected."""


class SinkOfReply:
    """A file-like object to which a thread writes the body of a reply. The method `pieces` yields the written
    bytes to the event loop.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue(_WAITING)
        self._is_gone = False
        self._buffer = bytearray()

    def write(self, piece: bytes) -> int:
        """Adds a piece to the reply's body and returns the number of bytes in the piece. Call it in a thread.
        Raises ReceiverGone.
        """
        self._buffer += piece
        if len(self._buffer) >= PIECE_BYTES:
            self._flush()
        return len(piece)

    async def pieces(self, work: Callable[[], Awaitable[None]]) -> AsyncIterator[bytes]:
        """Runs `work`, which writes to this object in a thread, and yields the written bytes. Raises the
        errors of `work`: before the first piece if `work` has written nothing, else after the last piece.
        """
        task = asyncio.ensure_future(self._to_its_end(work))
        try:
            while (piece := await self._queue.get()) is not None:
                yield piece
            await task
        finally:
            self._is_gone = True
            while not task.done():
                # The thread may wait for space in the queue.
                while not self._queue.empty():
                    self._queue.get_nowait()
                await asyncio.wait({task}, timeout=0.05)
            if not task.cancelled():
                task.exception()

    async def _to_its_end(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
            if self._buffer:
                await self._queue.put(bytes(self._buffer))
        finally:
            await self._queue.put(None)

    def _flush(self) -> None:
        if self._is_gone:
            raise ReceiverGone
        piece, self._buffer = bytes(self._buffer), bytearray()
        asyncio.run_coroutine_threadsafe(self._queue.put(piece), self._loop).result()


class SourceOfRequest:
    """A file-like object from which a thread reads a request body while the body arrives."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self._loop = asyncio.get_running_loop()
        self._left = b""
        self._is_over = False

    def read(self, size: int = -1) -> bytes:
        """Returns the next `size` bytes of the request body. Returns fewer bytes only at the end of the body.
        Call it in a thread.
        """
        while not self._is_over and (size < 0 or len(self._left) < size):
            piece: Any = asyncio.run_coroutine_threadsafe(self._next(), self._loop).result()
            if piece is None:
                self._is_over = True
            else:
                self._left += piece
        taken, self._left = (self._left, b"") if size < 0 else (self._left[:size], self._left[size:])
        return taken

    async def _next(self) -> bytes | None:
        return await anext(self._pieces, None)
