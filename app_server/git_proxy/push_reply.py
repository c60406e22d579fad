"""Streams the git host's reply to a push to the sandbox. Stores the outcome of each ref that the reply
reports.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import httpx
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app_server.git_proxy.access import RepositoryAccess
from app_server.git_proxy.push_report import ReportReader
from app_server.git_proxy.streams import bytes_of, returned_headers

_WAITING_PIECES = 16


class Push(StreamingResponse):
    """The HTTP response to a git push of a sandbox. It streams the git host's reply. The host's reply is read
    to its end even if the sandbox disconnects, so that Slipway can store the outcome of the push.
    """

    def __init__(
        self, reply: httpx.Response, access: RepositoryAccess, ids: Sequence[UUID], *, has_sideband: bool
    ) -> None:
        self._reply = reply
        self._access = access
        self._ids = ids
        self._report = ReportReader(has_sideband=has_sideband)
        self._pieces: asyncio.Queue[bytes] = asyncio.Queue(_WAITING_PIECES)
        self._is_heard = True
        super().__init__(self._heard(), headers=returned_headers(reply))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._access.background.start(self._read(), name="answer to a push")
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._is_heard = False
            while not self._pieces.empty():
                self._pieces.get_nowait()

    async def _read(self) -> None:
        try:
            async for piece in bytes_of(self._reply):
                self._report.feed(piece)
                await self._hand_over(piece)
        finally:
            await self._reply.aclose()
            await self._access.settle(self._ids, self._report.outcomes())
            await self._hand_over(b"")

    async def _hand_over(self, piece: bytes) -> None:
        if self._is_heard:
            await self._pieces.put(piece)

    async def _heard(self) -> AsyncIterator[bytes]:
        while piece := await self._pieces.get():
            yield piece
