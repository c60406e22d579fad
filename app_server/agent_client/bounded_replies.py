"""Limits the size of the HTTP replies that the app server accepts from agent servers. Without a limit, a
compromised agent server could send an endless reply.
"""

from collections.abc import AsyncIterator

import httpx

MAX_REPLY_BYTES = 64 * 1024**2


class BoundedTransport(httpx.AsyncBaseTransport):
    """An HTTP transport that limits the size of replies.

    Raises ReadError when a reply gets too long while it is read. Raises DecodingError for a compressed reply.
    The transport never asks for compression, because a compressed reply could expand to any size.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, max_bytes: int = MAX_REPLY_BYTES) -> None:
        self._inner = inner
        self._max_bytes = max_bytes

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["Accept-Encoding"] = "identity"
        reply = await self._inner.handle_async_request(request)
        if reply.headers.get("Content-Encoding", "identity") != "identity":
            await reply.aclose()
            raise httpx.DecodingError(
                "The reply is compressed, although Slipway did not ask for that.", request=request
            )
        assert isinstance(reply.stream, httpx.AsyncByteStream)
        reply.stream = _Bounded(reply.stream, self._max_bytes, request)
        return reply

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, max_bytes: int, request: httpx.Request) -> None:
        self._inner = inner
        self._remaining_bytes = max_bytes
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._inner:
            self._remaining_bytes -= len(piece)
            if self._remaining_bytes < 0:
                raise httpx.ReadError("The reply is longer than any may be.", request=self._request)
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
