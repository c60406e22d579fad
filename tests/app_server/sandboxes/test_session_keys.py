"""Tests of a sandbox's session key: it is replaced while the sandbox runs and when it wakes, and stays known
after each crash.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import httpx
import pytest

from app_server.agent_client.client import AgentClient
from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.core.database import now
from app_server.sandbox_backends.process.agent_server_process import read_handle
from app_server.sandbox_lifecycle import session_keys
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandboxes import auth
from app_server.sandboxes.service import Sandboxes
from app_server.users.models import User
from app_server.users.tokens import token_hash
from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem
from tests.app_server.sandboxes.conftest import House, eventually, shell

ROUTE = "/api/v1/webhooks/events"


@pytest.fixture
async def sandboxes(house: House) -> AsyncIterator[Sandboxes]:
    async with house.open_sandboxes() as sandboxes:
        yield sandboxes


def key_of(running: RunningSandbox) -> str:
    return str(running.client._headers["X-Session-API-Key"])


async def row_of(house: House, sandbox_id: UUID) -> Sandbox:
    row = await house.row(sandbox_id)
    assert row is not None
    return row


def pid_of(house: House, sandbox_id: UUID) -> int:
    handle = read_handle(house.config.home / "sandboxes" / sandbox_id.hex)
    assert handle is not None
    return handle.pid


async def refusal(running: RunningSandbox, key: str) -> tuple[int, str] | None:
    """Calls the agent server with this key. Returns the status and the error code, or None if the agent
    server accepts the key.
    """
    async with httpx.AsyncClient(trust_env=False) as http:
        headers = {"X-Session-API-Key": key}
        reply = await http.get(f"{running.client.url}/api/conversations/search", headers=headers)
    return None if reply.is_success else (reply.status_code, reply.json()["code"])


async def test_a_sandbox_that_wakes_has_another_key(house: House, sandboxes: Sandboxes) -> None:
    running = await house.start(sandboxes)
    first = key_of(running)
    await sandboxes.pause(running.id)
    await sandboxes.wake(running.id)
    woken = sandboxes.running(running.id)
    row = await row_of(house, running.id)

    assert key_of(woken) != first
    assert (await refusal(woken, first), await refusal(woken, key_of(woken))) == (
        (401, "not_authenticated"),
        None,
    )
    assert row.session_key_hash == token_hash(key_of(woken))
    assert (row.previous_session_key_hash, row.pending_session_key_hash) == (token_hash(first), None)


async def test_a_running_sandbox_gets_another_key_before_its_own_ends(house: House) -> None:
    house.config = house.config.model_copy(update={"session_key_minutes": 0.1})
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        # The next key must stay valid until the end of this test, also on a busy machine.
        sandboxes._machines.keys._period = timedelta(hours=1)
        first, pid = key_of(running), pid_of(house, running.id)
        slow = asyncio.create_task(shell(running, "until [ -e ../gate ]; do sleep 0.05; done; echo done"))

        async def is_replaced() -> bool:
            return key_of(running) != first

        await eventually(is_replaced, step=sandboxes.check)
        assert await shell(running, "touch ../gate; echo on") == "on\n"
        assert await slow == "done\n", "what was under way goes on"
        assert sandboxes.running(running.id) is running
        assert pid_of(house, running.id) == pid


async def test_a_key_is_renewed_when_the_clock_of_the_wall_has_jumped(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        first = key_of(running)
        for module in (auth, session_keys):
            monkeypatch.setattr(module, "now", lambda: now() + timedelta(hours=2))
        waiting = asyncio.create_task(auth.authenticate_patiently(house.database, first))

        async def is_replaced() -> bool:
            return key_of(running) != first

        await eventually(is_replaced, step=sandboxes.check)
        found = await waiting
        assert found is not None
        assert found.id == running.id
        assert await shell(running, "echo on") == "on\n"


async def test_to_bring_up_what_runs_changes_nothing(house: House, sandboxes: Sandboxes) -> None:
    running = await house.start(sandboxes)
    first = key_of(running)

    assert await sandboxes.bring_up(running.id, house.reports.append) is running
    assert key_of(running) == first


@pytest.mark.parametrize("killed", ["before the agent server heard of it", "before its answer was noted"])
async def test_a_key_on_its_way_when_the_app_server_is_killed_is_found_again(
    house: House, killed: str
) -> None:
    async with house.open_sandboxes(close=False) as first:
        running = await house.start(first)
        pid = pid_of(house, running.id)
        new_key = await first._machines.keys.prepare_key(running.id)
        if killed == "before its answer was noted":
            assert await running.client.hand_over(new_key.key, new_key.known, 600) == "taken"
        assert await refusal(running, key_of(running)) is None
    async with house.open_sandboxes() as second:
        again = await second.bring_up(running.id, house.reports.append)

        assert pid_of(house, running.id) == pid
        assert key_of(again) == new_key.key
        assert await refusal(again, new_key.key) is None
        assert (await row_of(house, running.id)).session_key_hash == token_hash(new_key.key)


async def test_an_app_server_that_was_away_for_longer_renews_what_has_expired(house: House) -> None:
    house.config = house.config.model_copy(update={"session_key_minutes": 0.0001})
    async with house.open_sandboxes(close=False) as first:
        running = await house.start(first)
        pid, expired = pid_of(house, running.id), key_of(running)
        assert await refusal(running, expired) == (401, "session_key_expired")
    house.config = house.config.model_copy(update={"session_key_minutes": 60})
    async with house.open_sandboxes() as second:
        again = await second.bring_up(running.id, house.reports.append)

        assert pid_of(house, running.id) == pid
        assert await shell(again, "echo on") == "on\n"


async def test_after_a_restored_backup_the_sandbox_starts_anew_with_its_files(house: House) -> None:
    async with house.open_sandboxes(close=False) as first:
        running = await house.start(first)
        await shell(running, "echo kept > file")
        pid = pid_of(house, running.id)
        unknown = "a-key-of-another-time"
        assert await running.client.hand_over(unknown, [key_of(running)], 600) == "taken"
    async with house.open_sandboxes() as second:
        again = await second.bring_up(running.id, house.reports.append)

        assert pid_of(house, running.id) != pid
        assert await shell(again, "cat file") == "kept\n"


async def test_another_program_on_the_port_is_not_taken_for_an_agent_server() -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as stranger, httpx.AsyncClient() as http:
        port = stranger.sockets[0].getsockname()[1]
        client = AgentClient(http, f"http://127.0.0.1:{port}", "key")

        assert await client.hand_over("another", ["key"], 600) == "absent"


async def asked(inner: httpx.AsyncClient, sandbox_id: UUID, key: str) -> httpx.Response:
    headers = {"X-Session-API-Key": key}
    return await inner.post(f"{ROUTE}/{sandbox_id}", headers=headers, json={"frames": []})


async def test_the_inner_listener_takes_each_key_for_as_long_as_it_is_one(
    app: App, owner: User, inner: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "RENEWAL_PATIENCE_SECONDS", 0.0)
    await app.state["start_worker"].close()
    sandbox_id, past, future = UUID(int=7), now() - timedelta(seconds=1), now() + timedelta(hours=1)
    async with app.database.session() as session:
        sandbox = await app.state["sandboxes"].create(session, sandbox_id=sandbox_id, user_id=owner.id)
        sandbox.status = SandboxStatus.RUNNING
        # Of a process sandbox, the monitor would find no process, and start one with other keys.
        sandbox.spec_id = "a container"

    async def answer(key: str, **columns: object) -> httpx.Response:
        async with app.database.session() as session:
            row = await session.get_one(Sandbox, sandbox_id)
            for name, value in columns.items():
                setattr(row, name, value)
        return await asked(inner, sandbox_id, key)

    for kind in ("session_key", "pending_session_key", "previous_session_key"):
        held = {f"{kind}_hash": token_hash(kind), f"{kind}_expires_at": future}
        # The key was accepted: the error is only that the conversation does not exist.
        assert_problem(await answer(kind, **held), 404, "not_found")
    for kind in ("session_key", "pending_session_key"):
        reply = await answer(kind, **{f"{kind}_expires_at": past})
        assert_problem(reply, 503, "session_key_expired")
        assert reply.headers["Retry-After"] == "1"
    over = await answer("previous_session_key", previous_session_key_expires_at=past)
    assert_problem(over, 401, "not_authenticated")
    given_up = await answer("session_key", status=SandboxStatus.ERROR, session_key_expires_at=future)
    assert_problem(given_up, 401, "not_authenticated")
    async with app.database.session() as session:
        await session.delete(await session.get(Sandbox, sandbox_id))
    assert_problem(await asked(inner, sandbox_id, "session_key"), 401, "not_authenticated")
