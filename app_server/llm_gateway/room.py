"""How much of this server the calls of models may take: at a time, for each sandbox, and for large bodies."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

import orjson
from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from app_server.errors import BadRequest, PayloadTooLarge, TooManyRequests

CALLS_OF_A_SANDBOX = 24
WAIT_SECONDS = 30.0
LARGE_BYTES = 2 * 1024**2
LARGE_AT_ONCE = 8
READ_SECONDS = 60.0
MAX_PARTS = 1_500_000
"""JSON has a character of these for each value, and a decoded value takes a hundred times the room. A million
tokens of text stay far below.
"""


class Room:
    """large_at_once: bodies that are read and decoded side by side, one of each sandbox."""

    def __init__(
        self,
        calls_of_a_sandbox: int = CALLS_OF_A_SANDBOX,
        large_at_once: int = LARGE_AT_ONCE,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self._limit = calls_of_a_sandbox
        self._wait_seconds = wait_seconds
        self._sandboxes: WeakValueDictionary[UUID, _Share] = WeakValueDictionary()
        self._large = asyncio.Semaphore(large_at_once)
        self._decoding = asyncio.Lock()

    async def enter(self, sandbox_id: UUID) -> "Place":
        """For one call, until its reply has ended. Raises TooManyRequests `too_many_model_calls`."""
        share = self._sandboxes.setdefault(sandbox_id, _Share(self._limit))
        try:
            async with asyncio.timeout(self._wait_seconds):
                await share.calls.acquire()
        except TimeoutError:
            raise TooManyRequests(
                f"This sandbox has {self._limit} calls of models under way.",
                code="too_many_model_calls",
                headers={"Retry-After": "5"},
            ) from None
        return Place(self, share)

    async def body_of(self, request: Request, share: "_Share") -> tuple[dict[str, Any], int]:
        """The JSON object, and its size in bytes.

        Raises BadRequest `malformed_json`, `body_too_slow`, PayloadTooLarge `too_many_parts`.
        """
        told = request.headers.get("content-length", "")
        if told.isdecimal() and int(told) <= LARGE_BYTES:
            content = await _read(request)
            return _object_of(content), len(content)
        async with share.large, self._large:
            content = await _read(request)
            # In a thread, one after the other: the loop has its turns in between, not while orjson works.
            async with self._decoding:
                return await asyncio.to_thread(_object_of, content), len(content)


class Place:
    """Of one call. It ends with `left_after`, or with `leave`."""

    def __init__(self, room: Room, share: "_Share") -> None:
        self._room = room
        self._share = share
        self._is_left = False

    async def body_of(self, request: Request) -> tuple[dict[str, Any], int]:
        return await self._room.body_of(request, self._share)

    def leave(self) -> None:
        if not self._is_left:
            self._is_left = True
            self._share.calls.release()

    def left_after(self, response: Response) -> Response:
        return _LeavingAfter(response, self)

    @asynccontextmanager
    async def unless_left(self) -> AsyncIterator[None]:
        """Left if what is inside fails."""
        try:
            yield
        except BaseException:
            self.leave()
            raise


class _Share:
    def __init__(self, limit: int) -> None:
        self.calls = asyncio.Semaphore(limit)
        self.large = asyncio.Lock()


class _LeavingAfter(Response):
    def __init__(self, response: Response, place: Place) -> None:
        super().__init__(status_code=response.status_code)
        self._response = response
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._response(scope, receive, send)
        finally:
            self._place.leave()


async def _read(request: Request) -> bytes:
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await request.body()
    except TimeoutError:
        raise BadRequest("The body did not come in time.", code="body_too_slow") from None


def _object_of(content: bytes) -> dict[str, Any]:
    if len(content) > LARGE_BYTES and sum(map(content.count, (b",", b"[", b"{"))) > MAX_PARTS:
        raise PayloadTooLarge("The call has too many parts.", code="too_many_parts")
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"The body is not JSON: {error}.", code="malformed_json") from error
    if not isinstance(body, dict):
        raise BadRequest("The body must be a JSON object.", code="malformed_json")
    return body
