"""Tests of a database that cannot store data: the user gets the reason, and no request is half done."""

import httpx
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Connection

from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem


# A limit on the number of pages has the effect of a full disk. PostgreSQL has no such limit.
@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_a_full_disk_is_a_problem_that_says_what_to_do(app: App, client: httpx.AsyncClient) -> None:
    engine = app.database.engine.sync_engine
    message = {"content": [{"type": "text", "text": "x" * 500_000}]}
    event.listen(engine, "begin", _allow_no_growth)

    reply = await client.post("/api/v1/app-conversations", json={"initial_message": message})

    assert_problem(reply, 503, "database_unavailable")
    assert "disk" in reply.json()["fix"]
    assert (await client.get("/api/v1/app-conversations/count")).json() == 0
    event.remove(engine, "begin", _allow_no_growth)
    event.listen(engine, "begin", _allow_growth)
    reply = await client.post("/api/v1/app-conversations", json={"initial_message": message})
    assert reply.status_code == 200, reply.text
    await client.delete(f"/api/v1/app-conversations/{reply.json()['id']}")


async def test_a_first_message_may_not_be_too_large(app: App, client: httpx.AsyncClient) -> None:
    message = {"content": [{"type": "text", "text": "x" * (app.config.max_message_bytes + 1)}]}
    reply = await client.post("/api/v1/app-conversations", json={"initial_message": message})
    assert_problem(reply, 413, "message_too_large")
    assert (await client.get("/api/v1/app-conversations/count")).json() == 0


def _allow_no_growth(connection: Connection) -> None:
    # If the limit is lower than the present number of pages, SQLite adds no page.
    connection.exec_driver_sql("PRAGMA max_page_count = 1")


def _allow_growth(connection: Connection) -> None:
    connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
