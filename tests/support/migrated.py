"""Makes one SQLite database with all tables in each process that runs tests. Tests use copies of it.

A copy takes a hundredth of the time of a migration.
"""

import asyncio
import atexit
import shutil
import tempfile
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from app_server.core.database import Database
from app_server.core.migrations import migrate


def copy_migrated_sqlite(file: Path) -> None:
    """Makes `file` a new database with the current tables and no rows."""
    shutil.copyfile(_migrated_sqlite(), file)


async def migrate_url(url: str) -> None:
    """Creates all tables in the database at this URL."""
    database = Database(url)
    try:
        await migrate(database)
    finally:
        await database.close()


def in_a_loop(work: Coroutine[Any, Any, None]) -> None:
    """Runs the coroutine to its end in another thread, because this thread may already run an event loop."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


@cache
def _migrated_sqlite() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="slipway-migrated-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / "slipway.sqlite3"
    in_a_loop(migrate_url(f"sqlite+aiosqlite:///{file}"))
    return file
