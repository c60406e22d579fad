"""Reads replies of servers whose address a user has entered, within limits of size and time.

The timeouts of the HTTP client apply only to each piece of a reply. Without the limits of this module, a
server that sends one byte every few seconds, or never stops, would block its caller and fill the memory.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

import httpx

from agent_runtime.time_limits import time_limit

IDENTITY = {"Accept-Encoding": "identity"}
"""A request header that asks for an uncompressed reply. Compressed replies are refused, because a compressed
body could unpack to any size.
"""


class BodyTooLong(httpx.ReadError):
    """The error that is raised if the body of a reply is longer than the caller's limit."""


async def read_body(reply: httpx.Response, max_bytes: int, seconds: float) -> bytes:
    """Returns the whole body of a reply that has not been read yet.

    Raises BodyTooLong if the body has more than `max_bytes` bytes. Raises httpx.ReadTimeout if the body takes
    longer than `seconds`. Raises another httpx.HTTPError if the connection fails.
    """
    content = bytearray()
    try:
        async with time_limit(seconds), aclosing(_pieces(reply)) as pieces:
            async for piece in pieces:
                content += piece
                if len(content) > max_bytes:
                    raise BodyTooLong(f"The reply is longer than {max_bytes} bytes.", request=reply.request)
    except TimeoutError:
        raise httpx.ReadTimeout("The reply does not end.", request=reply.request) from None
    return bytes(content)


async def beginning_of(reply: httpx.Response, max_bytes: int, seconds: float) -> bytes:
    """Returns the beginning of a reply's body: what arrives within `seconds`, at most `max_bytes`. Does not
    read the rest of the body.
    """
    content = bytearray()
    try:
        async with time_limit(seconds), aclosing(_pieces(reply)) as pieces:
            async for piece in pieces:
                content += piece
                if len(content) >= max_bytes:
                    break
    except TimeoutError:
        pass  # what has come is what there is
    return bytes(content[:max_bytes])


async def _pieces(reply: httpx.Response) -> AsyncGenerator[bytes]:
    # A few bytes could unpack to any size, in one step.
    if reply.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        raise httpx.DecodingError("The reply is compressed.", request=reply.request)
    async for piece in reply.aiter_bytes():
        yield piece


class BoundedStream(httpx.SyncByteStream):
    """The body of a reply, with a limit on its size. It is for httpx's synchronous client, which some
    libraries use. Reading raises BodyTooLong as soon as the body exceeds `max_bytes`.
    """

    def __init__(self, inner: httpx.SyncByteStream, max_bytes: int, request: httpx.Request) -> None:
        self._inner = inner
        self._max_bytes = max_bytes
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        remaining_bytes = self._max_bytes
        for piece in self._inner:
            remaining_bytes -= len(piece)
            if remaining_bytes < 0:
                words = f"The reply is longer than {self._max_bytes} bytes."
                raise BodyTooLong(words, request=self._request)
            yield piece

    def close(self) -> None:
        self._inner.close()
