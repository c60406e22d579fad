"""Replies of other servers on their way to our clients."""

from collections.abc import AsyncIterator, Callable, Mapping

import httpx
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send


class Passing(StreamingResponse):
    """A reply as it comes. However this ends, the connection to the other server is given back.

    Also when the client is gone before the first piece: nothing has begun to read `pieces` then, and nothing
    in it would be run. `at_end`: what else is to be given back then.
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
