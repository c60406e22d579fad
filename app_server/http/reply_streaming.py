"""Forwards replies of other servers, as a stream, to the clients of this server."""

from collections.abc import AsyncIterator, Callable, Mapping

import httpx
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send


class Passing(StreamingResponse):
    """An HTTP response that forwards the reply of another server while the reply arrives. When the response
    ends or the client disconnects, it calls `at_end` and closes the connection to the other server.

    `reply`: the reply of the other server. `pieces`: an iterator that yields the body of this response.
    `at_end`: a function that releases other resources. The iterator cannot close the connection, because it
    is never started if the client disconnects early.
    """

    def __init__(
        self,
        reply: httpx.Response,
        pieces: AsyncIterator[bytes],
        *,
        status: int,
        headers: Mapping[str, str],
        at_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._reply = reply
        self._at_end = at_end
        super().__init__(pieces, status, headers=headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._at_end()
            await self._reply.aclose()
