"""Tests of a PostgreSQL server that is not reachable, restarts or does not answer: every route reports this,
and works again when the server is back.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import text
from sqlalchemy.engine import make_url

from app_server.core import postgres
from app_server.core.config import Config
from app_server.core.database import UNAVAILABLE, Database
from tests.app_server.conftest import App
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem
from tests.support.outage_proxy import OutageProxy

pytestmark = [pytest.mark.postgres, pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)]

ROUTES = ("/ready", "/api/v1/users/me", "/api/v1/app-conversations/search", "/api/v1/sandboxes/search")


@pytest.fixture
async def proxy(database_url: str) -> AsyncIterator[OutageProxy]:
    port = make_url(database_url).port
    assert port
    async with OutageProxy(port) as proxy:
        yield proxy


@pytest.fixture
def config(tmp_path: Path, database_url: str, proxy: OutageProxy) -> Config:
    url = make_url(database_url).set(port=proxy.port).render_as_string(hide_password=False)
    return Config(home=tmp_path / "home", database_url=SecretStr(url), sandbox="process")


@pytest.fixture
async def impatient(app: App, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    """Replaces the database that requests use by one with short deadlines. Yields it."""
    for name in ("STATEMENT_SECONDS", "CONNECT_SECONDS", "PING_SECONDS"):
        monkeypatch.setattr(postgres, name, 1.0)
    database = Database(app.database.url)
    usual = app.state["database"]
    app.state["database"] = database
    yield database
    app.state["database"] = usual
    await database.close()


async def test_while_it_is_away_every_route_says_so_and_then_works_again(
    client: httpx.AsyncClient, proxy: OutageProxy
) -> None:
    await proxy.gone()
    for route in ROUTES * 2:
        reply = await client.get(route)
        assert_problem(reply, 503, "database_unavailable")
        assert reply.headers["Retry-After"] == "5"
    await proxy.back()
    for route in ROUTES:
        assert (await client.get(route)).status_code == 200


async def test_a_restart_between_two_statements_is_never_a_crash(
    client: httpx.AsyncClient, app: App, database_url: str
) -> None:
    other = Database(database_url)
    end_all = text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    async with other.session() as session:
        await session.execute(end_all)
    for route in ROUTES:
        assert (await client.get(route)).status_code == 200
    async with app.database.read() as session:
        await session.execute(text("SELECT 1"))
        async with other.session() as their:
            await their.execute(end_all)
        with pytest.raises(UNAVAILABLE):
            await session.execute(text("SELECT 1"))
    await other.close()


async def test_a_database_that_hangs_does_not_block_requests_forever(
    client: httpx.AsyncClient, proxy: OutageProxy, impatient: Database
) -> None:
    async def is_ready() -> bool:
        return (await client.get("/ready")).status_code == 200

    await eventually(is_ready)
    proxy.frozen()
    assert_problem(await client.get("/ready"), 503, "database_unavailable")
    assert_problem(await client.get("/ready"), 503, "database_unavailable")
    await proxy.back()
    await eventually(is_ready)


async def test_a_statement_that_takes_too_long_is_ended(impatient: Database) -> None:
    with pytest.raises(postgres.OperationalError):
        async with impatient.session() as session:
            await session.execute(text("SELECT pg_sleep(60)"))


async def test_work_in_the_background_goes_on_once_it_is_back(
    client: httpx.AsyncClient, proxy: OutageProxy
) -> None:
    await proxy.gone()
    assert (await client.post("/api/v1/app-conversations", json={})).status_code == 503
    await proxy.back()
    reply = await client.post("/api/v1/app-conversations", json={})
    assert reply.status_code == 200, reply.text
    conversation_id = reply.json()["id"]

    async def is_ready() -> bool:
        found = await client.get("/api/v1/app-conversations/start-tasks", params={"ids": conversation_id})
        return bool(found.json()[0]["status"] == "READY")

    await proxy.gone()
    await proxy.back()
    await eventually(is_ready)
    assert (await client.delete(f"/api/v1/app-conversations/{conversation_id}")).is_success
