"""How much of the server calls of models may take."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from fastapi import Request, Response
from starlette.types import Message

from app_server.errors import PayloadTooLarge, TooManyRequests
from app_server.llm_gateway.room import LARGE_BYTES, Room
from tests.app_server.conftest import App

VENDOR = "/llm/vendor/v1/chat/completions"


class Upload:
    """A request whose body comes when it is let go."""

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


def large(parts: int = 1) -> bytes:
    return b'{"messages": [' + b",".join([b"0"] * parts) + b'], "x": "' + b"y" * LARGE_BYTES + b'"}'


async def test_who_does_not_say_who_it_is_sends_no_body(app: App) -> None:
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
    room, one, other = Room(calls_of_a_sandbox=2, wait_seconds=0.05), uuid4(), uuid4()
    first = await room.enter(one)
    await room.enter(one)
    with pytest.raises(TooManyRequests) as refused:
        await room.enter(one)
    assert (refused.value.code, refused.value.headers["Retry-After"]) == ("too_many_model_calls", "5")
    await room.enter(other)
    first.leave()
    first.leave()
    await room.enter(one)
    with pytest.raises(TooManyRequests):
        await room.enter(one)


async def test_a_place_is_kept_until_the_reply_has_ended() -> None:
    room, sandbox_id = Room(calls_of_a_sandbox=1, wait_seconds=0.05), uuid4()
    reply = (await room.enter(sandbox_id)).left_after(Response(b"done"))
    with pytest.raises(TooManyRequests):
        await room.enter(sandbox_id)

    async def ignored(*_: Any) -> Any:
        return {"type": "http.disconnect"}

    await reply({"type": "http"}, ignored, ignored)
    place = await room.enter(sandbox_id)
    with pytest.raises(KeyError):
        async with place.unless_left():
            raise KeyError
    await room.enter(sandbox_id)


async def test_large_bodies_of_a_sandbox_are_read_one_after_the_other() -> None:
    room, sandbox_id = Room(), uuid4()
    places = [await room.enter(sandbox_id) for _ in range(3)]
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


async def test_a_body_of_too_many_parts_is_not_decoded() -> None:
    place = await Room().enter(uuid4())
    upload = Upload(large(parts=2_000_000))
    upload.may_end.set()
    with pytest.raises(PayloadTooLarge) as refused:
        await place.body_of(upload.request)
    assert refused.value.code == "too_many_parts"
