"""Tests of two servers with a copy of the same home and one database, and of a server whose home is lost."""

import asyncio
import shutil
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import update

from app_server.core.database import now
from app_server.sandbox_records import server_lease
from app_server.sandbox_records.models import Sandbox, ServerLease
from app_server.sandbox_records.ownership import LOST_AFTER
from app_server.sandbox_records.server_lease import Lease
from tests.app_server.conftest import App
from tests.app_server.conversations.conftest import ROOT, Home, eventually
from tests.app_server.problems import assert_problem
from tests.support.server import AppServerProcess

DATABASES = pytest.mark.parametrize(
    "database_kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)


@DATABASES
@pytest.mark.processes
def test_a_server_on_a_copied_home_does_not_start_and_says_what_to_do(
    tmp_path: Path, empty_database_url: str
) -> None:
    environment = {"SLIPWAY_DATABASE_URL": empty_database_url}
    original = AppServerProcess(tmp_path / "original", sandbox="process", environment=environment)
    copy = AppServerProcess(tmp_path / "copy", sandbox="process", environment=environment)
    try:
        original.start()
        shutil.copytree(original.home, copy.home)
        with pytest.raises(AssertionError, match="the server ended"):
            copy.start()
        said = copy.output()
        # The original can restart at once, also after kill -9.
        original.kill()
        original.start()
        (copy.home / "server-id").unlink()
        copy.start()
    finally:
        original.stop()
        copy.stop()

    assert "Traceback" not in said
    assert f"with the home {original.home}" in said
    assert f"remove {copy.home}/server-id" in said


@DATABASES
async def test_a_server_whose_id_was_taken_serves_no_process_sandbox(home: Home) -> None:
    conversation_id = (await home.ready())["id"]
    server_id = home.state["sandboxes"].server_id
    changes = f"{ROOT}/{conversation_id}/git/changes"

    await set_lease(home, server_id, nonce="of another process", host="elsewhere")
    await eventually(lambda: answers(home, changes, 503))
    assert_problem(refused := await home.client.get(changes), 503, "server_id_taken")
    assert "on elsewhere" in refused.json()["fix"]

    await set_lease(home, server_id, nonce=None)
    await eventually(lambda: answers(home, changes, 200))


@DATABASES
async def test_a_process_that_renews_its_row_does_not_refuse_itself(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lease is the claim of an app server to a server id. Two leases of the same process take the id while
    a third one renews it: no call is refused.
    """
    monkeypatch.setattr(server_lease, "_POLL_SECONDS", 0.01)
    leases = [Lease(app.config, app.database, app.state["sandboxes"].ownership) for _ in range(3)]
    await leases[0].take()
    for _ in range(20):
        await asyncio.gather(leases[0].renew(), leases[1].take(), leases[0].renew(), leases[2].take())


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_nothing_is_left_of_a_deleted_conversation_whose_server_is_lost(home: Home) -> None:
    kept, lost = [(await home.ready())["id"] for _ in range(2)]
    for server_id, conversation_id, unseen in (
        ("not seen for long", lost, LOST_AFTER + timedelta(hours=1)),
        ("seen lately", kept, LOST_AFTER - timedelta(hours=1)),
    ):
        await give_to(home, conversation_id, server_id, unseen)
        assert (await home.client.delete(f"{ROOT}/{conversation_id}")).is_success

    await eventually(lambda: has_no_row(home, lost))
    assert not await has_no_row(home, kept)
    await give_to(home, kept, home.state["sandboxes"].server_id, timedelta())


async def give_to(home: Home, sandbox_id: str, server_id: str, unseen: timedelta) -> None:
    async with home.database.session() as session:
        given = update(Sandbox).where(Sandbox.id == UUID(sandbox_id)).values(server_id=server_id)
        await session.execute(given)
        if await session.get(ServerLease, server_id) is None:
            nowhere = dict.fromkeys(("boot_id", "machine_id", "home_id", "home", "host"), "")
            seen = now() - unseen
            session.add(ServerLease(server_id=server_id, renewals=0, renewed_at=seen, **nowhere))


async def set_lease(home: Home, server_id: str, **values: str | None) -> None:
    async with home.database.session() as session:
        changed = update(ServerLease).where(ServerLease.server_id == server_id).values(**values)
        await session.execute(changed)


async def answers(home: Home, path: str, status: int) -> bool:
    return (await home.client.get(path)).status_code == status


async def has_no_row(home: Home, sandbox_id: str) -> bool:
    async with home.database.read() as session:
        return await session.get(Sandbox, UUID(sandbox_id)) is None
