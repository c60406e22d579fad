import asyncio

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect

import app_server.main  # noqa: F401 (imports every table)
from app_server.core.database import Base, Database
from app_server.core.migrations import MIGRATIONS, alembic_config, is_current, migrate, newest_revision


async def test_migrating_leads_to_the_tables_of_the_models(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    try:
        await migrate(database)
        assert await is_current(database)
        async with database.engine.begin() as connection:
            differences = await connection.run_sync(_differences)
        assert differences == []
    finally:
        await database.close()


async def test_migrations_can_be_taken_back(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    try:
        await migrate(database)
        async with database.engine.begin() as connection:
            await connection.run_sync(lambda each: command.downgrade(alembic_config(each), "base"))
            tables = await connection.run_sync(lambda each: inspect(each).get_table_names())
        assert tables == ["alembic_version"]
        await migrate(database)
        assert await is_current(database)
    finally:
        await database.close()


async def test_servers_that_start_at_once_migrate_once(empty_database_url: str) -> None:
    databases = [Database(empty_database_url) for _ in range(3)]
    try:
        await asyncio.gather(*(migrate(database) for database in databases))
        assert await is_current(databases[0])
    finally:
        for database in databases:
            await database.close()


def test_the_newest_file_is_the_last_revision() -> None:
    files = sorted((MIGRATIONS / "versions").glob("*.py"))
    text = files[-1].read_text()
    assert f'revision = "{newest_revision()}"' in text


def _differences(connection: Connection) -> list[object]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return list(compare_metadata(context, Base.metadata))
