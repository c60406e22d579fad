"""The commit edge under bad luck."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app_server.core.database import Database
from app_server.core.migrations import migrate
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
        # Kept, as the traceback of a cancelled task keeps it: its rows are never fetched.
        cursor = await driver.execute("UPDATE users SET name = 'Other' RETURNING id")
        await driver.close()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await add_user(database)
        assert cursor is not None
        await connection.invalidate()
