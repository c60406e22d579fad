"""Tests of how much of the app server's capacity model calls may use."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from fastapi import Request, Response
from starlette.types import Message

from app_server.core.errors import TooManyRequests
from app_server.llm_gateway.load_limits import LARGE_BYTES, LARGE_OF_A_USER, CallCapacity
from tests.app_server.conftest import App

USER = uuid4()
VENDOR = "/llm/vendor/v1/chat/completions"


class Upload:
    """A request whose body arrives only after the test sets `may_end`. `is_read` is set when the body is
    requested.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.is_read = asyncio.Event()
        self.may_end = asyncio.Event()
        length = str(len(body)).encode()
        scope = {"type": "http", "method": "POST", "headers": [(b"content-length", length)]}
        self.request = Request(scope, self._receive)

    async def _receive(self) -> Message:
        self.is_read.set()
        await self.may_end.wait()
        return {"type": "http.request", "body": self._body}


def large() -> bytes:
    return b'{"messages": [], "x": "' + b"y" * LARGE_BYTES + b'"}'


async def test_the_body_of_an_anonymous_call_is_not_read(app: App) -> None:
    sent: list[Any] = []

    async def receive() -> Message:
        raise AssertionError("the body was asked for")

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-length", b"18000000")]
    scope = {
        "type": "http",
        "method": "POST",
        "path": VENDOR,
        "raw_path": VENDOR.encode(),
        "query_string": b"",
        "headers": headers,
    }
    await app.inner(scope, receive, send)
    assert sent[0]["status"] == 401


async def test_a_sandbox_has_so_many_calls_at_a_time_and_others_have_theirs() -> None:
    room, one, other = CallCapacity(calls_of_a_sandbox=2, wait_seconds=0.05), uuid4(), uuid4()
    first = await room.enter(one, USER)
    await room.enter(one, USER)
    with pytest.raises(TooManyRequests) as refused:
        await room.enter(one, USER)
    assert (refused.value.code, refused.value.headers["Retry-After"]) == ("too_many_model_calls", "5")
    await room.enter(other, USER)
    first.leave()
    first.leave()
    await room.enter(one, USER)
    with pytest.raises(TooManyRequests):
        await room.enter(one, USER)


async def test_a_user_with_many_sandboxes_leaves_others_their_calls() -> None:
    room, member, other = CallCapacity(calls_of_a_user=3, wait_seconds=0.05), uuid4(), uuid4()
    places = [await room.enter(uuid4(), member) for _ in range(2)]
    trial = await room.enter(None, member)
    for sandbox_id in (uuid4(), None):
        with pytest.raises(TooManyRequests) as refused:
            await room.enter(sandbox_id, member)
        assert (refused.value.code, refused.value.headers["Retry-After"]) == ("too_many_model_calls", "5")
    assert "of this user have 3 calls" in refused.value.detail
    await room.enter(uuid4(), other)
    trial.leave()
    await room.enter(uuid4(), member)
    with pytest.raises(TooManyRequests):
        await room.enter(uuid4(), member)
    places[0].leave()
    await room.enter(uuid4(), member)


async def test_a_call_over_the_users_limit_gives_back_the_slot_of_its_sandbox() -> None:
    room, sandbox_id = CallCapacity(calls_of_a_sandbox=1, calls_of_a_user=1, wait_seconds=0.05), uuid4()
    elsewhere = await room.enter(uuid4(), USER)
    with pytest.raises(TooManyRequests):
        await room.enter(sandbox_id, USER)
    elsewhere.leave()
    await room.enter(sandbox_id, USER)


async def test_large_bodies_of_a_user_leave_room_for_those_of_others() -> None:
    room, member = CallCapacity(large_at_once=LARGE_OF_A_USER + 1), uuid4()
    uploads = [Upload(large()) for _ in range(LARGE_OF_A_USER + 1)]
    theirs = Upload(large())
    theirs.may_end.set()
    async with asyncio.TaskGroup() as tasks:
        for upload in uploads:
            tasks.create_task((await room.enter(uuid4(), member)).body_of(upload.request))
        for upload in uploads[:-1]:
            await upload.is_read.wait()
        assert (await (await room.enter(uuid4(), uuid4())).body_of(theirs.request))[1] == len(large())
        assert not uploads[-1].is_read.is_set()
        for upload in uploads:
            upload.may_end.set()


async def test_a_place_is_kept_until_the_reply_has_ended() -> None:
    room, sandbox_id = CallCapacity(calls_of_a_sandbox=1, wait_seconds=0.05), uuid4()
    reply = (await room.enter(sandbox_id, USER)).released_after(Response(b"done"))
    with pytest.raises(TooManyRequests):
        await room.enter(sandbox_id, USER)

    async def ignored(*_: Any) -> Any:
        return {"type": "http.disconnect"}

    await reply({"type": "http"}, ignored, ignored)
    with pytest.raises(KeyError):
        async with room.slot(sandbox_id, USER, None):
            raise KeyError
    await room.enter(sandbox_id, USER)


async def test_large_bodies_of_a_sandbox_are_read_one_after_the_other() -> None:
    room, sandbox_id = CallCapacity(), uuid4()
    places = [await room.enter(sandbox_id, USER) for _ in range(3)]
    first, second, small = Upload(large()), Upload(large()), Upload(b"{}")
    small.may_end.set()
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(places[0].body_of(first.request))
        await first.is_read.wait()
        waiting = tasks.create_task(places[1].body_of(second.request))
        assert await places[2].body_of(small.request) == ({}, 2)
        assert not second.is_read.is_set()
        first.may_end.set()
        await second.is_read.wait()
        second.may_end.set()
    assert reading.result()[1] == waiting.result()[1] == len(large())


async def test_between_large_bodies_there_is_time_for_others() -> None:
    room = CallCapacity(decoding_share=1e-6)
    first, second, small = Upload(large()), Upload(large()), Upload(b"{}")
    for upload in (first, second, small):
        upload.may_end.set()
    assert (await (await room.enter(uuid4(), USER)).body_of(first.request))[1] == len(large())
    waiting = asyncio.create_task((await room.enter(uuid4(), USER)).body_of(second.request))
    await second.is_read.wait()
    assert await (await room.enter(uuid4(), USER)).body_of(small.request) == ({}, 2)
    assert not waiting.done()
    waiting.cancel()
