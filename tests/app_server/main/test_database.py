"""Tests of transactions on SQLite that are interrupted: connections release their locks, and writers take
turns.
"""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from app_server.core import sqlite
from app_server.core.database import Database
from app_server.core.migrations import migrate
from app_server.core.sqlite import WriteTurns
from app_server.users.models import Role, User
from tests.support.patience import PATIENCE_SECONDS


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(f"sqlite+aiosqlite:///{tmp_path / 'slipway.sqlite3'}")
    await migrate(database)
    yield database
    await database.close()


async def add_user(database: Database) -> None:
    async with database.session() as session:
        session.add(User(name="Somebody", role=Role.MEMBER))


async def test_a_connection_that_is_given_up_in_mid_statement_gives_its_lock_back(database: Database) -> None:
    await add_user(database)
    async with database.engine.connect() as connection:
        driver = (await connection.get_raw_connection()).driver_connection
        assert driver is not None
        await driver.execute("BEGIN IMMEDIATE")
        # The reference to the cursor stays, as in the traceback of a cancelled task, and its rows are never
        # read.
        cursor = await driver.execute("UPDATE users SET name = 'Other' RETURNING id")
        await driver.close()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await add_user(database)
        assert cursor is not None
        await connection.invalidate()


def test_a_step_that_ends_after_the_event_loop_was_closed_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, released, errors = threading.Event(), threading.Event(), []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    opened = sqlite3.connect(tmp_path / "any.sqlite3", check_same_thread=False)

    def wait() -> int:
        begun.set()
        return int(released.wait(PATIENCE_SECONDS))

    async def leave_a_step() -> None:
        await connection
        await connection.create_function("wait", 0, wait)
        step = asyncio.create_task(connection.execute_fetchall("SELECT wait()"))
        await asyncio.to_thread(begun.wait, PATIENCE_SECONDS)
        step.cancel()
        await asyncio.wait([step])
        connection._connection = None  # this test closes what it has opened

    connection = sqlite._OrderedConnection(lambda: opened, WriteTurns())
    asyncio.run(leave_a_step())
    released.set()
    connection._thread.join(PATIENCE_SECONDS)
    opened.close()
    assert not connection._thread.is_alive()
    assert errors == []


async def test_writers_have_their_turn_in_the_order_in_which_they_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns, order = WriteTurns(), list[str]()

    async def write(name: str) -> None:
        await turns.take(name)
        order.append(name)
        await asyncio.sleep(0)
        turns.give_back(name)

    await turns.take("first")
    writers = {name: asyncio.create_task(write(name)) for name in "abcd"}
    await asyncio.sleep(0)
    writers["b"].cancel()
    turns.give_back("another one")
    await asyncio.sleep(0)
    assert order == []
    turns.give_back("first")
    await asyncio.gather(*writers.values(), return_exceptions=True)
    assert order == ["a", "c", "d"]

    # If a writer never ends its turn, the other writers continue after a time.
    monkeypatch.setattr(sqlite, "_TURN_SECONDS", 0.01)
    await turns.take("lost")
    await write("next")
    await write("last")
    assert order[3:] == ["next", "last"]


async def test_many_writers_at_once_all_write(database: Database) -> None:
    async def write(number: int) -> None:
        async with database.session() if number % 2 else database.brief_session() as session:
            session.add(User(name=f"User {number}", role=Role.MEMBER))
            if number % 5 == 0:
                raise ValueError("rolled back")

    found = await asyncio.gather(*map(write, range(30)), return_exceptions=True)
    assert sum(isinstance(one, ValueError) for one in found) == 6
    async with database.read() as session:
        assert await session.scalar(select(func.count()).select_from(User)) == 24
