"""Tests of two app servers with one PostgreSQL and one Redis: a user's stream at one server shows what
happens at the other server.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from app_server.core.config import Config
from app_server.lifespan import lifespan
from app_server.main import WithState
from app_server.users.models import User
from tests.app_server.conftest import App, http_client, listening
from tests.app_server.sharing.test_sharing import ROOT, new_conversation
from tests.app_server.sharing.test_user_stream import following, read, report
from tests.support.apps import inner_app, public_app
from tests.support.ports import free_port

REDIS_URL = os.environ.get("SLIPWAY_TEST_REDIS_URL", "redis://127.0.0.1:6379/0")


@pytest.fixture
def config(config: Config) -> Config:
    return config.model_copy(update={"redis_url": SecretStr(REDIS_URL)})


@pytest.fixture
async def other(app: App, tmp_path: Path) -> AsyncIterator[App]:
    """Yields a second app server with the same database and the same encryption key."""
    home = tmp_path / "other"
    home.mkdir()
    (home / "encryption.key").write_bytes((app.config.home / "encryption.key").read_bytes())
    ports = {"port": free_port(), "inner_port": free_port()}
    config = app.config.model_copy(update={"home": home, **ports})
    async with lifespan(config) as opened:
        state = vars(opened)
        await state["start_worker"].close()
        yield App(config, state, WithState(public_app(config), state), WithState(inner_app(config), state))


@pytest.mark.redis
@pytest.mark.parametrize(
    "database_kind", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)
async def test_the_stream_of_a_user_tells_what_happens_at_another_app_server(
    app: App, other: App, client: httpx.AsyncClient, owner: User
) -> None:
    await app.state["start_worker"].close()
    known = await new_conversation(app, owner)
    authorization = {"Authorization": client.headers["Authorization"]}
    async with (
        listening(app.public) as url,
        following(url, client) as (socket, snapshot),
        http_client(other.public, headers=authorization) as there,
    ):
        assert [each["id"] for each in snapshot["conversations"]] == [known.hex]

        (await there.patch(f"{ROOT}/{known}", json={"title": "Named there"})).raise_for_status()
        assert (await read(socket, "conversation"))["conversation"]["title"] == "Named there"

        # This report of a sandbox arrives at the other server.
        await report(other, known, 1, "goal", {"status": "running", "objective": "Build it"})
        shown = (await read(socket, "conversation"))["conversation"]
        assert shown["goal"]["objective"] == "Build it"

        (await there.delete(f"{ROOT}/{known}")).raise_for_status()
        assert (await read(socket, "removed"))["conversation_id"] == known.hex
