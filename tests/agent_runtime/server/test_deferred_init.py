"""Tests of a server that is started in advance and gets its user and its settings later, by `/api/init`."""

import asyncio
import sys
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from agent_runtime.server.config import Config
from agent_runtime.server.main import create_app
from tests.support.agent_app import agent_app, called
from tests.support.agent_server import AgentServer

INIT = {"X-Init-API-Key": "init"}
MAX_MEGABYTES_WHILE_WAITING = 48


async def test_nothing_works_until_the_server_is_told_for_whom(tmp_path: Path):
    async with agent_app(tmp_path, deferred_init=True, init_api_key="init", session_keys=()) as client:
        assert (await client.get("/health")).status_code == 200
        ready = await client.get("/ready")
        assert (ready.status_code, ready.json()) == (503, {"status": "initializing"})
        refused = await client.get("/api/conversations/search")
        assert (refused.status_code, refused.json()["code"]) == (503, "not_initialized")
        assert await called(client, "GET", "/api/init") == {"state": "dormant", "error": None}
        assert (await client.get("/server_info")).is_success

        told = {"session_api_keys": ["user"], "conversations_path": str(tmp_path / "theirs")}
        assert (await called(client, "POST", "/api/init", json=told, headers=INIT))["state"] == "ready"

        assert (await client.get("/ready")).json() == {"status": "ready"}
        assert (await client.get("/api/conversations/search")).status_code == 401
        theirs = {"X-Session-API-Key": "user"}
        assert (await client.get("/api/conversations/search", headers=theirs)).is_success
        again = await client.post("/api/init", json=told, headers=INIT)
        assert (again.status_code, again.json()["code"]) == (400, "already_initialized")


@pytest.mark.parametrize("headers", [{}, {"X-Init-API-Key": "guess"}])
async def test_the_init_key_is_required(tmp_path: Path, headers: dict[str, str]):
    async with agent_app(tmp_path, deferred_init=True, init_api_key="init") as client:
        reply = await client.post("/api/init", json={}, headers=headers)

        assert reply.status_code == 401
        assert (await called(client, "GET", "/api/init"))["state"] == "dormant"


async def test_after_a_failure_it_may_be_told_again(tmp_path: Path):
    (tmp_path / "file").write_text("")
    async with agent_app(tmp_path, deferred_init=True, init_api_key="init") as client:
        wrong = await client.post("/api/init", json={"max_concurrent_runs": 0}, headers=INIT)
        assert wrong.status_code == 422
        with pytest.raises(FileExistsError):
            await client.post("/api/init", json={"workspace_path": str(tmp_path / "file")}, headers=INIT)
        failed = await called(client, "GET", "/api/init")
        assert (failed["state"], bool(failed["error"])) == ("dormant", True)

        assert (await called(client, "POST", "/api/init", json={}, headers=INIT))["state"] == "ready"


async def test_a_server_that_does_not_wait_knows_no_init(tmp_path: Path):
    async with agent_app(tmp_path) as client:
        assert (await client.get("/api/init")).status_code == 404
        assert (await client.post("/api/init", json={}, headers=INIT)).status_code == 404


async def test_of_two_initializations_at_once_only_one_is_accepted(tmp_path: Path):
    async with agent_app(tmp_path, deferred_init=True, init_api_key="init", session_keys=()) as client:
        tellings = [
            client.post("/api/init", json={"session_api_keys": [key]}, headers=INIT) for key in ("a", "b")
        ]

        first, second = await asyncio.gather(*tellings)

        assert (first.status_code, first.json()["state"]) == (200, "ready")
        assert (second.status_code, second.json()["code"]) == (400, "already_initialized")
        found = await client.get("/api/conversations/search", headers={"X-Session-API-Key": "a"})
        assert found.is_success


async def test_a_server_that_was_told_has_every_route_of_one_that_did_not_wait(tmp_path: Path):
    async with agent_app(tmp_path, deferred_init=True, init_api_key="init") as client:
        assert (await client.get("/openapi.json")).json()["code"] == "not_initialized"
        await called(client, "POST", "/api/init", json={}, headers=INIT)

        assert await called(client, "GET", "/openapi.json") == create_app(Config()).openapi()


async def test_before_the_initialization_no_port_answers_and_pages_of_other_origins_are_refused(
    tmp_path: Path,
):
    async with agent_app(tmp_path, deferred_init=True, init_api_key="init", session_keys=()) as client:
        port = await client.get("/api/ports/8080/relay/")
        assert (port.status_code, port.headers["X-Slipway-Not-Answered"]) == (503, "not_initialized")
        stranger = await client.get("/api/init", headers={"Origin": "https://stranger.example"})
        assert (stranger.status_code, stranger.json()["code"]) == (403, "origin_not_allowed")


@pytest.fixture
def waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OH_DEFERRED_INIT", "true")
    monkeypatch.setenv("OH_INIT_API_KEY", "init")
    # The test measures the memory of the server, so the server needs a fresh interpreter without other
    # modules.
    server = AgentServer(tmp_path, python=sys.executable)
    server.start()
    yield server
    server.kill()


async def test_sockets_open_only_when_the_server_was_told(waiting: AgentServer):
    url = f"{waiting.ws_url}/sockets/bash-events"
    with pytest.raises(InvalidStatus):
        await connect(url)

    await asyncio.to_thread(waiting.call, "POST", "/api/init", json={}, headers=INIT)

    async with connect(url, additional_headers={"X-Session-API-Key": "session-canary"}) as socket:
        await socket.ping()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_server_that_waits_holds_little_memory(waiting: AgentServer):
    """A pool has many such servers. Memory of files is shared by all of them, so the test
    does not count it.
    """
    before = _own_megabytes(waiting)

    waiting.call("POST", "/api/init", json={}, headers=INIT)

    assert before < MAX_MEGABYTES_WHILE_WAITING
    # Initialization must load more code. Otherwise all code was loaded before, and the limit proves nothing.
    assert _own_megabytes(waiting) > before + 4


def _own_megabytes(server: AgentServer) -> float:
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    kilobytes = next(line for line in status.splitlines() if line.startswith("RssAnon:")).split()[1]
    return int(kilobytes) * 1024 / 1e6
