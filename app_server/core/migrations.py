"""Brings the database schema up to date when the server starts, by applying the missing migrations."""

import asyncio
import importlib
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_random

from app_server.core import postgres
from app_server.core.database import Database
from app_server.core.errors import ConfigurationError

MIGRATIONS = Path(__file__).parents[2] / "migrations"

# Any constant: it keeps two servers that start at once from migrating PostgreSQL side by side.
_POSTGRES_LOCK = 7_164_301


async def migrate(database: Database) -> None:
    """Applies the migrations that the database lacks. Alembic, the migration tool, is imported only if a
    migration is missing, so that other starts are fast.

    Raises ConfigurationError if a newer version of Slipway has created the database.
    """
    if database.sqlite_file:
        await asyncio.to_thread(use_write_ahead_log, database.sqlite_file)
    if not await is_current(database):
        await _require_known(database)
        await asyncio.to_thread(importlib.import_module, "alembic.command")
        async with _patient_engine(database) as engine, engine.begin() as connection:
            await wait_for_other_servers(connection)
            await connection.run_sync(_upgrade)


@asynccontextmanager
async def _patient_engine(database: Database) -> AsyncIterator[AsyncEngine]:
    """Yields a database engine whose statements have no time limit. Migrations need such an engine, because
    some of their statements take long: they wait until another server has migrated, or they rebuild a whole
    table.
    """
    if database.sqlite_file:
        yield database.engine
        return
    engine = postgres.create_engine(database.url, is_patient=True)
    try:
        yield engine
    finally:
        await engine.dispose()


async def is_current(database: Database) -> bool:
    """Returns whether the database schema has exactly the revision that this version of Slipway needs.
    Returns False if migrations are missing or if a newer version has created the database.
    """
    async with database.engine.connect() as connection:
        return await connection.run_sync(_current_revision) == newest_revision()


async def revision_of(database: Database) -> str | None:
    """Returns the revision of the database schema: the id of the last applied migration. Returns None for a
    database without tables.
    """
    async with database.engine.connect() as connection:
        return await connection.run_sync(_current_revision)


def is_known(revision: str) -> bool:
    """Returns whether this version of Slipway has the migration with the id `revision`. If it has not, a
    newer version has created the database, and this version cannot migrate it.
    """
    return revision in {_slug(path) for path in _files()}


async def _require_known(database: Database) -> None:
    revision = await revision_of(database)
    if revision is not None and not is_known(revision):
        raise ConfigurationError(
            f"The database was made by a newer version of Slipway (its schema is {revision!r}): start that "
            "version, or restore a backup from before the upgrade."
        )


def newest_revision() -> str:
    """Returns the id of the newest migration. The id is the name of the newest file in migrations/versions
    without the date and the time.
    """
    return _slug(max(_files(), key=lambda path: path.stem))


def _files() -> list[Path]:
    return list((MIGRATIONS / "versions").glob("*.py"))


def _slug(path: Path) -> str:
    return path.stem.split("_", 4)[4]


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
    """Turns on the write-ahead log of an SQLite file. With this log, readers and writers do not wait for each
    other. It stays on for all later connections to the file.
    """
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


async def wait_for_other_servers(connection: AsyncConnection) -> None:
    """Takes the lock that a server holds while it migrates the database or sets up a new installation. Waits
    until no other server holds this lock. The lock is released at the end of the transaction. So only one
    server at a time does this work. On SQLite, the transaction has the write lock already, so nothing is
    done.
    """
    # SQLite needs nothing: the transaction has begun with the write lock.
    if connection.dialect.name == "postgresql":
        await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _POSTGRES_LOCK})


def _upgrade(connection: Connection) -> None:
    from alembic import command  # heavy; see migrate()

    command.upgrade(alembic_config(connection), "head")


def alembic_config(connection: Connection) -> Any:
    """Returns the configuration of Alembic, the migration tool, for this database connection."""
    from alembic.config import Config  # heavy; see migrate()

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config
