"""A SQLite database with all tables, made once in each process that runs tests: a copy takes a hundredth."""

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
    """Makes `file` a new database without rows, with the tables of this version."""
    shutil.copyfile(_migrated_sqlite(), file)


async def migrate_url(url: str) -> None:
    """Gives the database of this URL all tables."""
    database = Database(url)
    try:
        await migrate(database)
    finally:
        await database.close()


def in_a_loop(work: Coroutine[Any, Any, None]) -> None:
    """Runs it in a thread, since asynchronous tests have a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


@cache
def _migrated_sqlite() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="slipway-migrated-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / "slipway.sqlite3"
    in_a_loop(migrate_url(f"sqlite+aiosqlite:///{file}"))
    return file
