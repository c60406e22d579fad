"""File-like objects that pass HTTP bodies between threads and the event loop. A thread reads or writes the
file-like object, while the event loop receives or sends the body.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from app_server.sandbox_backends.remote.wire import PIECE_BYTES

_WAITING = 16


class ReceiverGone(Exception):
    """The error that is raised when a thread writes to a streamed reply whose client has disconnected."""


class SinkOfReply:
    """A file-like object to which a thread writes the body of an HTTP reply. The event loop gets the written
    bytes from the method `pieces` and sends them to the client.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue(_WAITING)
        self._is_gone = False
        self._buffer = bytearray()

    def write(self, piece: bytes) -> int:
        """Adds a piece to the body of the reply and returns the number of bytes in the piece. Waits if the
        client receives the body too slowly, so it must be called in a thread. Raises ReceiverGone if the
        client has disconnected.
        """
        self._buffer += piece
        if len(self._buffer) >= PIECE_BYTES:
            self._flush()
        return len(piece)

    async def pieces(self, work: Callable[[], Awaitable[None]]) -> AsyncIterator[bytes]:
        """Runs `work` and yields the bytes that `work` writes to this object in a thread. The bytes are
        collected into pieces of at least PIECE_BYTES; only the last piece may be smaller.

        If `work` raises an error, this generator first yields the complete pieces and then raises the same
        error. Bytes that do not fill a piece are lost. If there is no complete piece, the error comes before
        the first piece, so that the caller can still reply with an error status.
        """
        task = asyncio.ensure_future(self._to_its_end(work))
        try:
            while (piece := await self._queue.get()) is not None:
                yield piece
            await task
        finally:
            self._is_gone = True
            while not task.done():
                # The thread may be waiting for space in the queue, so the queue is emptied.
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
    """A file-like object from which a thread reads the body of an HTTP request, while the event loop still
    receives the body.
    """

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self._loop = asyncio.get_running_loop()
        self._unread = b""
        self._is_over = False

    def read(self, size: int = -1) -> bytes:
        """Waits until the next `size` bytes of the request body have arrived, and returns them. Returns fewer
        bytes only at the end of the body. A negative `size` reads all remaining bytes. Must be called in a
        thread.
        """
        while not self._is_over and (size < 0 or len(self._unread) < size):
            piece: Any = asyncio.run_coroutine_threadsafe(self._next(), self._loop).result()
            if piece is None:
                self._is_over = True
            else:
                self._unread += piece
        taken, self._unread = (self._unread, b"") if size < 0 else (self._unread[:size], self._unread[size:])
        return taken

    async def _next(self) -> bytes | None:
        return await anext(self._pieces, None)
