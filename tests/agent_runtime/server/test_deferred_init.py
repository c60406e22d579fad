"""A server that is started ahead of its user."""

from pathlib import Path

import pytest

from tests.support.agent_app import agent_app, called

INIT = {"X-Init-API-Key": "init"}


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
async def test_only_who_holds_the_init_key_may_tell(tmp_path: Path, headers: dict[str, str]):
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
