"""Creates the database tables without the migrations. This is faster, for tests that need many databases."""

from app_server.core.database import Base, Database
from app_server.core.migrations import use_write_ahead_log


async def create_tables(database: Database) -> None:
    """Creates all tables. An SQLite file gets the write-ahead log, as after `migrate()`: without it, a
    commit waits until all readers have finished.
    """
    if database.sqlite_file is not None:
        use_write_ahead_log(database.sqlite_file)
    async with database.engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
