"""Tests of request bodies above their limits, from users, sandboxes, and clients that are not signed in."""

import asyncio
import time
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import httpx
import pytest
from starlette.requests import HTTPConnection
from starlette.types import Message, Receive, Scope, Send

from app_server.core.config import Config
from app_server.http.large_bodies import LARGE_BYTES, MAX_ANONYMOUS_BYTES, LargeBodies
from app_server.http.middleware import BodyLimit
from app_server.users.models import User
from tests.app_server.conftest import App, http_client
from tests.app_server.egress.conftest import KEY, a_sandbox
from tests.app_server.problems import assert_problem
from tests.attacks.floods.conftest import served
from tests.support.patience import PATIENCE_SECONDS

JSON = {"Content-Type": "application/json"}
MIB = 1024**2
FLOOD = b'{"token": ' + b"[" + b"0," * (9 * MIB) + b"0]}"


def pieces(size: int, taken: list[int], step: int = 16 * 1024) -> AsyncIterator[bytes]:
    async def come() -> AsyncIterator[bytes]:
        for _ in range(0, size, step):
            taken.append(step)
            yield b" " * step

    return come()


async def test_others_are_answered_while_strangers_send_large_bodies(app: App) -> None:
    async with served(app.public) as port, httpx.AsyncClient(timeout=PATIENCE_SECONDS) as client:
        url = f"http://127.0.0.1:{port}"
        link = f"{url}/api/v1/sign-in/link"

        async def attack() -> int | None:
            try:
                return (await client.post(link, content=FLOOD, headers=JSON)).status_code
            except httpx.TransportError:
                return None  # the server answered and closed before all was sent

        attacks = [asyncio.create_task(attack()) for _ in range(3)]
        waits = []
        while not all(one.done() for one in attacks):
            began = time.perf_counter()
            assert (await client.get(f"{url}/health")).status_code == 200
            waits.append(time.perf_counter() - began)
        assert {await one for one in attacks} <= {401, 413, None}
        assert max(waits) < 10


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer wrong"}, {"Cookie": "slipway_session=wrong"}]
)
async def test_a_body_of_a_stranger_is_not_read(
    anonymous: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    taken: list[int] = []
    size = MAX_ANONYMOUS_BYTES + 1
    told = {**JSON, **headers, "Content-Length": str(size), "Origin": "http://localhost:3000"}
    reply = await anonymous.post("/api/v1/sign-in/link", content=pieces(size, taken), headers=told)
    assert_problem(reply, 401, "not_authenticated")
    assert not taken


async def test_a_body_of_untold_length_is_read_as_far_as_strangers_may_go(
    anonymous: httpx.AsyncClient,
) -> None:
    taken: list[int] = []
    reply = await anonymous.post("/api/v1/sign-in/link", content=pieces(20 * MIB, taken), headers=JSON)
    assert_problem(reply, 401, "not_authenticated")
    assert sum(taken) <= MAX_ANONYMOUS_BYTES + 16 * 1024


async def test_users_may_send_as_much_as_a_route_needs(client: httpx.AsyncClient, config: Config) -> None:
    for path, size, status in [
        ("/api/v1/api-keys", MAX_ANONYMOUS_BYTES + 1, 422),
        ("/api/v1/api-keys", 3 * MIB, 413),
        ("/api/v1/app-conversations", 3 * MIB, 422),
        ("/api/v1/app-conversations", config.max_body_bytes + 1, 413),
    ]:
        reply = await client.post(path, content=b'"' + b"x" * (size - 2) + b'"', headers=JSON)
        assert reply.status_code == status, path


@pytest.mark.parametrize(("headers", "value"), [(JSON, b"0,"), ({}, b"0,"), (JSON, b"[["), (JSON, b'{"')])
async def test_a_body_of_millions_of_values_is_refused_before_it_is_decoded(
    client: httpx.AsyncClient, headers: dict[str, str], value: bytes
) -> None:
    taken: list[int] = []

    async def body() -> AsyncIterator[bytes]:
        yield b'{"initial_message": ['
        for _ in range(9):
            taken.append(MIB)
            yield value * MIB
        yield b"0]}"

    reply = await client.post("/api/v1/app-conversations", content=body(), headers=headers)
    assert_problem(reply, 413, "payload_too_large")
    assert sum(taken) <= MIB


async def test_a_long_text_is_one_value(client: httpx.AsyncClient) -> None:
    text = b'"' + b"x" * (3 * MIB) + b'"'
    reply = await client.post("/api/v1/app-conversations", content=text, headers=JSON)
    assert_problem(reply, 422, "validation_failed")


async def test_large_bodies_of_one_user_are_read_one_after_the_other() -> None:
    user, another = uuid4(), uuid4()
    senders = {"/first": user, "/second": user, "/other": another}
    begun: list[str] = []
    may_end = asyncio.Event()

    async def decode(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["more_body"]:
            pass
        begun.append(scope["path"])
        await may_end.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})

    async def identify(connection: HTTPConnection) -> UUID:
        return senders[connection.url.path]

    gate = LargeBodies(decode, identify=identify)
    async with http_client(gate) as client, asyncio.TaskGroup() as group:
        for name in ("/first", "/second", "/other"):
            group.create_task(client.post(name, content=b"x" * (LARGE_BYTES + 1)))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(begun) < 2:  # noqa: ASYNC110 (no event of the application tells)
                await asyncio.sleep(0)
        assert begun == ["/first", "/other"]
        may_end.set()
    assert begun == ["/first", "/other", "/second"]


async def test_a_body_that_stops_coming_is_given_up() -> None:
    async def read(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, send
        while (await receive())["more_body"]:
            pass

    async def stalled() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    limit = BodyLimit(read, max_bytes=MIB, piece_seconds=0.01)
    scope: Scope = {"type": "http", "path": "/", "query_string": b"", "headers": []}

    async def nowhere(_message: Message) -> None:
        raise AssertionError

    with pytest.raises(Exception, match="No data of the body arrived") as caught:
        await limit(scope, stalled, nowhere)
    assert getattr(caught.value, "status_code", None) == 408


async def test_a_sandbox_has_one_report_read_at_a_time(app: App, owner: User) -> None:
    sandbox_id = await a_sandbox(app, owner)
    may_go_on = asyncio.Event()
    second: list[int] = []

    async def slow() -> AsyncIterator[bytes]:
        yield b" "
        await may_go_on.wait()
        yield b"{"

    async with http_client(app.inner, headers={"X-Session-API-Key": KEY}) as sandbox:
        path = f"/api/v1/webhooks/events/{sandbox_id}"
        async with asyncio.TaskGroup() as group:
            first = group.create_task(sandbox.post(path, content=slow()))
            reading = app.state["fairness"]._readers
            async with asyncio.timeout(PATIENCE_SECONDS):
                while sandbox_id not in reading:  # noqa: ASYNC110 (a lock has no event for being taken)
                    await asyncio.sleep(0.005)
                later = group.create_task(sandbox.post(path, content=pieces(MIB, second)))
                for _ in range(5):
                    assert (await sandbox.get("/health")).status_code == 200
            assert not second
            may_go_on.set()
    assert first.result().status_code == later.result().status_code == 422
    assert second
