"""Brings the database schema up to date at the start."""

import asyncio
import importlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncConnection
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_random

from app_server.database import Database

MIGRATIONS = Path(__file__).parent.parent / "migrations"

# Any constant: it keeps two servers that start at once from migrating PostgreSQL side by side.
_POSTGRES_LOCK = 7_164_301


async def migrate(database: Database) -> None:
    """Applies what is missing. Alembic is imported only then: an up-to-date start does not pay for it."""
    if database.sqlite_file:
        await asyncio.to_thread(use_write_ahead_log, database.sqlite_file)
    if not await is_current(database):
        await asyncio.to_thread(importlib.import_module, "alembic.command")
        async with database.engine.begin() as connection:
            await _wait_for_other_servers(connection)
            await connection.run_sync(_upgrade)


async def is_current(database: Database) -> bool:
    """Whether the schema is that of this version."""
    async with database.engine.connect() as connection:
        return await connection.run_sync(_current_revision) == newest_revision()


def newest_revision() -> str:
    """The slug of the newest file in migrations/versions: its name without the date and time."""
    newest = max(path.stem for path in (MIGRATIONS / "versions").glob("*.py"))
    return newest.split("_", 4)[4]


def _current_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


# Unlike every other statement, this switch does not wait for a lock but fails at once.
@retry(
    retry=retry_if_exception_type(sqlite3.OperationalError),
    stop=stop_after_delay(30),
    wait=wait_random(0.01, 0.1),
    reraise=True,
)
def use_write_ahead_log(file: str) -> None:
    """From now on, whoever opens it: readers and writers do not wait for each other."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


async def _wait_for_other_servers(connection: AsyncConnection) -> None:
    # SQLite needs nothing: the transaction has begun with the write lock.
    if connection.dialect.name == "postgresql":
        await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _POSTGRES_LOCK})


def _upgrade(connection: Connection) -> None:
    from alembic import command  # heavy; see migrate()

    command.upgrade(alembic_config(connection), "head")


def alembic_config(connection: Connection) -> Any:
    """Alembic's configuration, bound to a connection of ours."""
    from alembic.config import Config  # heavy; see migrate()

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config
