"""Tables without the migrations: quick, for tests that need many databases."""

from app_server.core.database import Base, Database
from app_server.core.migrations import use_write_ahead_log


async def create_tables(database: Database) -> None:
    """The file is kept as `migrate()` has it: else whoever commits waits for all who read."""
    if database.sqlite_file is not None:
        use_write_ahead_log(database.sqlite_file)
    async with database.engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
