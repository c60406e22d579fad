"""Each fault of a start, caused for real, is reported at once with its code, its cause and a fix.

docs/start-failures.md explains the codes.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import docker
import httpx
import pytest
from docker import DockerClient

from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.errors import Unavailable
from app_server.doctor.checks import examine
from app_server.lifespan import lifespan
from app_server.main import WithState
from app_server.server_state import ServerState
from app_server.users.service import create_api_key, find_owner
from tests.app_server.conftest import http_client, no_outer_configuration
from tests.app_server.conversations.conftest import ROOT, eventually
from tests.faults.start_faults import FAULTS, Fault, Place, walls_broken
from tests.support.apps import public_app
from tests.support.migrated import copy_migrated_sqlite
from tests.support.ports import free_port
from tests.support.sandbox_image import sandbox_image

__all__ = ["no_outer_configuration"]

# Five seconds on an idle machine. During the tests the machine may be busy.
PROMISED_SECONDS = 5.0 * 5

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]


@pytest.fixture
def engine() -> Iterator[DockerClient]:
    client = docker.from_env(version="auto")
    yield client
    client.close()


@pytest.fixture
def place(tmp_path: Path, engine: DockerClient, monkeypatch: pytest.MonkeyPatch) -> Place:
    sandbox_image()  # before the event loop of the test runs, because the build needs its own loop
    place = Place(tmp_path, engine, monkeypatch)
    place.settings["inner_port"] = free_port()
    place.home.mkdir(mode=0o700)
    copy_migrated_sqlite(place.home / "slipway.sqlite3")
    return place


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_each_fault_has_a_code_a_cause_and_a_fix_at_once(fault: Fault, place: Place) -> None:
    with fault.bring(place):
        config = Config(home=place.home, port=free_port(), **place.settings)
        task = await failed_start(config, place)
        found = {finding.name: finding async for finding in examine(config)} if fault.doctor else {}

    error = task["error"]
    assert error is not None, task
    (stage,) = [stage for stage in task["stages"] if stage["state"] == "failed"]
    assert error["code"] == fault.code, error
    assert stage["status"] == error["stage"]
    assert fault.cause in error["cause"], error
    assert fault.fix in error["fix"], error
    assert seconds_of(stage) < PROMISED_SECONDS
    if fault.doctor:
        finding = found[fault.doctor]
        assert (finding.state != "ok", finding.code) == (True, fault.code), found
        assert finding.fix


def seconds_of(stage: dict[str, Any]) -> float:
    moments = [datetime.fromisoformat(stage[name]) for name in ("started_at", "finished_at")]
    return (moments[1] - moments[0]).total_seconds()


async def failed_start(config: Config, place: Place, *, delete: bool = True) -> dict[str, Any]:
    """Starts a conversation on a new app server and returns its start task. Deletes the sandbox if `delete`
    is set.
    """
    async with lifespan(config) as state, owner_client(config, state) as client:
        body = {"conversation_id": place.conversation_id.hex, **place.request}
        reply = await client.post(ROOT, json=body)
        assert reply.status_code == 200, reply.text
        task = await end_of_start(client, place.conversation_id)
        try:
            if delete:
                await state.sandboxes.delete(place.conversation_id)
        except Unavailable:
            place.remove_machine()
    return task


async def end_of_start(client: httpx.AsyncClient, conversation_id: UUID) -> dict[str, Any]:
    """Returns the start task when its status is READY or ERROR."""

    async def ended() -> Any:
        params = {"ids": [conversation_id.hex]}
        (task,) = (await client.get(f"{ROOT}/start-tasks", params=params)).json()
        return task if task["status"] in {"READY", "ERROR"} else None

    return dict(await eventually(ended))


@asynccontextmanager
async def owner_client(config: Config, state: ServerState) -> AsyncIterator[httpx.AsyncClient]:
    database: Database = state.database
    async with database.session() as session:
        owner = await find_owner(session)
        assert owner is not None
        _, key = await create_api_key(session, owner, name="tests")
    app = WithState(public_app(config), vars(state))
    async with http_client(app, headers={"Authorization": f"Bearer {key}"}) as client:
        yield client


async def test_a_workspace_of_another_kind_is_told_of_before_and_at_the_start(place: Place) -> None:
    with walls_broken(place):
        await failed_start(Config(home=place.home, port=free_port(), **place.settings), place, delete=False)
    config = Config(home=place.home, port=free_port(), sandbox="docker", inner_port=free_port())
    found = {finding.name: finding async for finding in examine(config)}
    async with lifespan(config) as state, owner_client(config, state) as client:
        retry = f"{ROOT}/start-tasks/{place.conversation_id.hex}/retry"
        (await client.post(retry)).raise_for_status()
        task = await end_of_start(client, place.conversation_id)

    assert task["error"]["code"] == "sandbox_of_other_kind"
    assert "SLIPWAY_SANDBOX" in task["error"]["fix"]
    assert (found["workspaces"].state, found["workspaces"].code) == ("warning", "sandbox_of_other_kind")
