"""Bodies of replies from servers that users have named: read to the end, within a size and a time.

The timeouts of the HTTP client hold for each piece. A server that sends a byte every few seconds, or does not
stop, keeps its caller and the memory without these.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

import httpx

IDENTITY = {"Accept-Encoding": "identity"}
"""A header for such calls: a packed body could unpack to any size."""


class BodyTooLong(httpx.ReadError):
    """The body is longer than the caller takes."""


async def whole_body(reply: httpx.Response, max_bytes: int, seconds: float) -> bytes:
    """Of a reply that is still to be read. Raises BodyTooLong, httpx.ReadTimeout, other httpx.HTTPError."""
    content = bytearray()
    try:
        async with asyncio.timeout(seconds), aclosing(_pieces(reply)) as pieces:
            async for piece in pieces:
                content += piece
                if len(content) > max_bytes:
                    raise BodyTooLong(f"The reply is longer than {max_bytes} bytes.", request=reply.request)
    except TimeoutError:
        raise httpx.ReadTimeout("The reply does not end.", request=reply.request) from None
    return bytes(content)


async def beginning_of(reply: httpx.Response, max_bytes: int, seconds: float) -> bytes:
    """So much of the body as comes in time, and `max_bytes` at most. The rest is not read."""
    content = bytearray()
    try:
        async with asyncio.timeout(seconds), aclosing(_pieces(reply)) as pieces:
            async for piece in pieces:
                content += piece
                if len(content) >= max_bytes:
                    break
    except TimeoutError:
        pass  # what has come is what there is
    return bytes(content[:max_bytes])


async def _pieces(reply: httpx.Response) -> AsyncGenerator[bytes]:
    async for piece in reply.aiter_bytes():
        yield piece


class BoundedStream(httpx.SyncByteStream):
    """Of a reply that a library reads, from a thread. Raises BodyTooLong in the middle of it."""

    def __init__(self, inner: httpx.SyncByteStream, max_bytes: int, request: httpx.Request) -> None:
        self._inner = inner
        self._max_bytes = max_bytes
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        left = self._max_bytes
        for piece in self._inner:
            left -= len(piece)
            if left < 0:
                words = f"The reply is longer than {self._max_bytes} bytes."
                raise BodyTooLong(words, request=self._request)
            yield piece

    def close(self) -> None:
        self._inner.close()
