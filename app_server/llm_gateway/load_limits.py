"""Limits the load that model calls put on this server: the number of parallel calls per sandbox and per user,
and the number of large request bodies.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

import orjson
from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from agent_runtime.time_limits import time_limit, time_limit_at
from app_server.core.errors import AppError, BadRequest, TooManyRequests
from app_server.levels.models import SettingName
from app_server.levels.quotas import quota_reached
from app_server.levels.resolution import LevelValue

CALLS_OF_A_SANDBOX = 24
CALLS_OF_A_USER = 96
LARGE_OF_A_USER = 3
WAIT_SECONDS = 30.0
LARGE_BYTES = 2 * 1024**2
LARGE_AT_ONCE = 8
READ_SECONDS = 60.0
DECODING_SHARE = 0.1
"""The maximum share of the time that this server spends on decoding large bodies. The share is limited,
because the event loop can do nothing else while it decodes.
"""


class CallCapacity:
    """A limiter for the model calls that run at the same time, for each sandbox and each user.

    `large_at_once`: how many large request bodies (over 2 MiB) this server reads and decodes at the same
    time. Of these, at most one may come from the same sandbox, and at most three from the same user.
    `wait_seconds`: how long a call waits before it is refused.
    """

    def __init__(
        self,
        calls_of_a_sandbox: int = CALLS_OF_A_SANDBOX,
        calls_of_a_user: int = CALLS_OF_A_USER,
        large_at_once: int = LARGE_AT_ONCE,
        wait_seconds: float = WAIT_SECONDS,
        decoding_share: float = DECODING_SHARE,
    ) -> None:
        self._of_a_sandbox = calls_of_a_sandbox
        self._of_a_user = calls_of_a_user
        self._wait_seconds = wait_seconds
        self._sandboxes: WeakValueDictionary[UUID, _Share] = WeakValueDictionary()
        self._users: WeakValueDictionary[UUID, _Share] = WeakValueDictionary()
        self._quotas: WeakValueDictionary[tuple[UUID, int], _Share] = WeakValueDictionary()
        self._large = asyncio.Semaphore(large_at_once)
        self._decoding = asyncio.Lock()
        self._decoding_share = decoding_share

    @asynccontextmanager
    async def slot(
        self, sandbox_id: UUID, user_id: UUID, quota: LevelValue | None
    ) -> AsyncIterator["CallSlot"]:
        """Waits until one more model call may run, and yields the slot (the permission) of the call. The
        reply usually ends after the `with` block. Therefore the caller must free the slot when the reply has
        ended. Only if the `with` block raises an error, this function frees the slot.

        `quota`: the user's quota of parallel calls; None means no quota. Raises TooManyRequests if no slot
        becomes free in time. The code is `quota_reached` if the quota is used up, and `too_many_model_calls`
        if the limit of the sandbox or of the user is reached.
        """
        slot = await self.enter(sandbox_id, user_id, quota)
        try:
            yield slot
        except BaseException:
            slot.leave()
            raise

    async def enter(
        self, sandbox_id: UUID | None, user_id: UUID, quota: LevelValue | None = None
    ) -> "CallSlot":
        """Waits until one more model call may run and returns the slot (permission) of the call. The caller
        must free the slot when the reply has ended.

        `sandbox_id`: None for a call that the user makes without a sandbox. The limit of a user covers all of
        the user's sandboxes together, so that one user cannot take the slots of other users. `quota`: the
        user's quota of parallel calls, which applies in addition to the limit. Raises TooManyRequests if no
        slot becomes free within `wait_seconds`. The code is `quota_reached` if the quota is used up, and
        `too_many_model_calls` if the limit of the sandbox or of the user is reached.
        """
        until = asyncio.get_running_loop().time() + self._wait_seconds
        shares = self._shares_of(sandbox_id, user_id, quota)
        async with AsyncExitStack() as taken:
            for share in shares:
                await share.take(until)
                taken.callback(share.calls.release)
            taken.pop_all()
        return CallSlot(self, *shares)

    def _shares_of(self, sandbox_id: UUID | None, user_id: UUID, quota: LevelValue | None) -> "list[_Share]":
        of_user = partial(_too_many, "The sandboxes of this user have", self._of_a_user)
        user = _Share(self._of_a_user, of_user, large=LARGE_OF_A_USER)
        shares = [self._users.setdefault(user_id, user)]
        if quota is not None:
            # Each value of the quota has a separate share. Calls that began under the earlier value stay in
            # its share.
            refusal = partial(quota_reached, SettingName.PARALLEL_MODEL_CALLS, quota)
            share = _Share(quota.value, refusal, large=LARGE_OF_A_USER)
            shares.insert(0, self._quotas.setdefault((user_id, quota.value), share))
        if sandbox_id is not None:
            # The sandbox comes first: a call that waits for its sandbox takes no slot of the user.
            of_sandbox = partial(_too_many, "This sandbox has", self._of_a_sandbox)
            sandbox = _Share(self._of_a_sandbox, of_sandbox, large=1)
            shares.insert(0, self._sandboxes.setdefault(sandbox_id, sandbox))
        return shares

    async def body_of(self, request: Request, *shares: "_Share") -> tuple[dict[str, Any], int]:
        """Reads the body of the request. Returns the body as a JSON object, and its size in bytes. `shares`:
        the limits that apply to the call, such as those of the sandbox and of the user.

        Each limit, and the whole server, has a maximum number of large bodies that are read and decoded at
        the same time. A large body (over LARGE_BYTES, or of unknown size) waits until all these numbers allow
        it. Raises BadRequest `malformed_json` if the body is not a JSON object. Raises BadRequest
        `body_too_slow` if the body does not arrive in time.
        """
        content_length = request.headers.get("content-length", "")
        if content_length.isdecimal() and int(content_length) <= LARGE_BYTES:
            content = await _read(request)
            return _object_of(content), len(content)
        async with AsyncExitStack() as stack:
            for limit in (*(share.large for share in shares), self._large):
                await stack.enter_async_context(limit)
            content = await _read(request)
            return await self._decoded(content), len(content)

    async def _decoded(self, content: bytearray) -> dict[str, Any]:
        """Decodes a large JSON body in a thread and returns the JSON object. Even in a thread, the library
        orjson stops all other Python code of the process while it decodes. Therefore only one large body is
        decoded at a time. A pause follows, so that decoding takes at most the share `decoding_share` of the
        time.
        """
        loop = asyncio.get_running_loop()
        await self._decoding.acquire()
        began = loop.time()
        try:
            return await asyncio.to_thread(_object_of, content)
        finally:
            took = loop.time() - began
            loop.call_later(took * (1 / self._decoding_share - 1), self._decoding.release)


class CallSlot:
    """The permission to run one model call. The method `released_after` frees the permission for another call
    when a response has ended. The method `leave` frees it at once.
    """

    def __init__(self, room: CallCapacity, *shares: "_Share") -> None:
        self._capacity = room
        self._shares = shares
        self._is_released = False

    async def body_of(self, request: Request) -> tuple[dict[str, Any], int]:
        return await self._capacity.body_of(request, *self._shares)

    def leave(self) -> None:
        if not self._is_released:
            self._is_released = True
            for share in self._shares:
                share.calls.release()

    def released_after(self, response: Response) -> Response:
        return _LeavingAfter(response, self)


class _Share:
    """One limit for parallel model calls: the limit of a sandbox, the limit of a user, or the quota of a
    user. `limit`: the number of slots; each slot is the permission for one call.

    `refusal`: a function that returns the error for a call that gets no slot. `large`: how many of these
    calls may read and decode a large request body at the same time.
    """

    def __init__(self, limit: int, refusal: Callable[[], AppError], *, large: int) -> None:
        self._refusal = refusal
        self.calls = asyncio.Semaphore(limit)
        self.large = asyncio.Semaphore(large)

    async def take(self, until: float) -> None:
        """Takes a slot (the permission for one model call). If none is free, waits until the time `until` of
        the event loop's clock. Raises TooManyRequests if no slot is free by then.
        """
        try:
            async with time_limit_at(until):
                await self.calls.acquire()
        except TimeoutError:
            raise self._refusal() from None


def _too_many(whose: str, limit: int) -> TooManyRequests:
    """Returns the error for a model call that gets no slot (the permission for one model call), because too
    many calls run. `whose`: the beginning of the error text, such as "This sandbox has". `limit`: the number
    of slots.
    """
    return TooManyRequests(
        f"{whose} {limit} calls of models under way.",
        code="too_many_model_calls",
        fix="Wait until some of them have ended. The limits are SLIPWAY_LLM_CALLS_PER_SANDBOX and "
        "SLIPWAY_LLM_CALLS_PER_USER.",
        headers={"Retry-After": "5"},
    )


class _LeavingAfter(Response):
    def __init__(self, response: Response, slot: CallSlot) -> None:
        super().__init__(status_code=response.status_code)
        self._response = response
        self._slot = slot

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._response(scope, receive, send)
        finally:
            self._slot.leave()


async def _read(request: Request) -> bytearray:
    """Reads the request body piece by piece into one buffer and returns the buffer. Joining all pieces at the
    end would block the event loop for long and need twice the memory.
    """
    content = bytearray()
    try:
        async with time_limit(READ_SECONDS):
            async for piece in request.stream():
                content += piece
    except TimeoutError:
        raise BadRequest("The body did not come in time.", code="body_too_slow") from None
    return content


def _object_of(content: bytearray) -> dict[str, Any]:
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"The body is not JSON: {error}.", code="malformed_json") from error
    if not isinstance(body, dict):
        raise BadRequest("The body must be a JSON object.", code="malformed_json")
    return body
