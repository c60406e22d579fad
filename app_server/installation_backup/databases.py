"""Writes the installation's database to one file, and loads the file again: SQLite by its backup API,
PostgreSQL by pg_dump and pg_restore.
"""

import asyncio
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from sqlalchemy import inspect
from sqlalchemy.engine import make_url

from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.errors import ConfigurationError


def sqlite_file(config: Config) -> Path | None:
    """Returns the path of the SQLite database file. Returns None if the database is PostgreSQL."""
    url = make_url(config.resolved_database_url)
    return Path(url.database or "") if url.get_backend_name() == "sqlite" else None


def dump(config: Config, target: Path) -> None:
    """Writes a consistent copy of the database to `target`. Other processes may write to the database during
    this time.

    Raises ConfigurationError if PostgreSQL's program pg_dump is missing or fails.
    """
    if file := sqlite_file(config):
        with (
            closing(sqlite3.connect(file)) as source,
            closing(sqlite3.connect(target)) as copy,
        ):
            source.backup(copy)
    else:
        _run(config, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={target}")


def load_postgresql(config: Config, source: Path) -> None:
    """Loads the database dump `source` into the empty PostgreSQL database of `config`, in one transaction.

    Raises ConfigurationError if PostgreSQL's program pg_restore is missing or fails.
    """
    _run(
        config,
        "pg_restore",
        "--no-owner",
        "--no-privileges",
        "--exit-on-error",
        "--single-transaction",
        f"--dbname={_name_of(config)}",
        str(source),
    )


def has_tables(config: Config) -> bool:
    """Returns whether the database has any table. Raises the database driver's error if the database cannot
    be reached.
    """

    async def look() -> bool:
        database = Database(config.resolved_database_url)
        try:
            async with database.engine.connect() as connection:
                return bool(await connection.run_sync(lambda sync: inspect(sync).get_table_names()))
        finally:
            await database.close()

    return asyncio.run(look())


def _name_of(config: Config) -> str:
    return make_url(config.resolved_database_url).database or ""


def _run(config: Config, program: str, *arguments: str) -> None:
    if shutil.which(program) is None:
        raise ConfigurationError(f"{program} is not installed. On Debian: apt-get install postgresql-client")
    url = make_url(config.resolved_database_url)
    # Not on the command line, which other users of this machine can read.
    values = {
        "PGHOST": url.host or url.query.get("host"),
        "PGPORT": url.port,
        "PGUSER": url.username,
        "PGPASSWORD": url.password,
        "PGDATABASE": url.database,
    }
    given = {name: str(value) for name, value in values.items() if value is not None}
    done = subprocess.run(
        [program, *arguments], env={**os.environ, **given}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ConfigurationError(f"{program} failed: {done.stderr.strip()[-1000:]}")
