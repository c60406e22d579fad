"""Brings the database schema up to date at the start."""

import asyncio
import importlib
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncConnection

from app_server.database import Database

MIGRATIONS = Path(__file__).parent.parent / "migrations"

# Any constant: it keeps two servers that start at once from migrating PostgreSQL side by side.
_POSTGRES_LOCK = 7_164_301


async def migrate(database: Database) -> None:
    """Applies what is missing. Alembic is imported only then: an up-to-date start does not pay for it."""
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
