"""Tests of a second app server on the same database: a process sandbox stays with the server that started
it.
"""

import asyncio
from pathlib import Path

import pytest

from app_server.lifespan import lifespan
from app_server.main import WithState
from app_server.sandbox_backends.process.agent_server_process import read_handle
from tests.app_server.conftest import http_client
from tests.app_server.conversations.conftest import ROOT, Home, eventually
from tests.app_server.problems import assert_problem
from tests.support.apps import public_app
from tests.support.ports import free_port


@pytest.mark.parametrize(
    "database_kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)
async def test_the_other_server_starts_nothing_beside_it_and_says_where_it_is(
    home: Home, tmp_path: Path
) -> None:
    conversation_id = (await home.ready())["id"]
    folder = home.config.home / "sandboxes" / conversation_id
    before = read_handle(folder)
    other = home.config.model_copy(
        update={"home": tmp_path / "other", "port": free_port(), "inner_port": free_port()}
    )
    async with lifespan(other) as state:
        sandboxes = state.sandboxes
        for _ in range(2):
            await sandboxes.check()
        public = WithState(public_app(other), vars(state))
        async with http_client(public, headers={"Authorization": f"Bearer {home.key}"}) as client:
            message = {"role": "user", "content": [{"type": "text", "text": "hello"}], "run": False}
            refused = [
                await client.get(f"{ROOT}/{conversation_id}/git/changes"),
                await client.post(f"{ROOT}/{conversation_id}/send-message", json=message),
                await client.post(f"/api/v1/sandboxes/{conversation_id}/pause"),
                await client.post(f"/api/v1/sandboxes/{conversation_id}/resume"),
            ]
            for reply in refused:
                assert_problem(reply, 503, "sandbox_on_other_server")
                assert "SLIPWAY_SANDBOX=remote" in reply.json()["fix"]
            assert not (other.home / "sandboxes" / conversation_id).exists()
            assert read_handle(folder) == before
            assert await home.shell(conversation_id, "echo on") == "on"

            begun_here = await client.post(ROOT, json={})
            assert begun_here.status_code == 200
            second_id = begun_here.json()["id"]

            async def is_ready() -> bool:
                return bool((await home.task(second_id))["status"] == "READY")

            await eventually(is_ready)
            # Either server may have claimed the start.
            [second] = [
                each
                for each in (server.home / "sandboxes" / second_id for server in (home.config, other))
                if each.exists()
            ]
            await client.delete(f"{ROOT}/{second_id}")
            await eventually(lambda: _is_gone(second))

            # A delete request at this server also removes a sandbox that runs at the other server.
            assert (await client.delete(f"{ROOT}/{conversation_id}")).is_success
            await eventually(lambda: _is_gone(folder))


async def _is_gone(folder: Path) -> bool:
    return not await asyncio.to_thread(folder.exists)
