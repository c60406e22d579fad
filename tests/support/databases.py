"""Fixtures of databases: new ones for each test, on SQLite and on PostgreSQL."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from app_server.database import Database
from app_server.migrate import migrate

POSTGRES_URL = os.environ.get("SLIPWAY_TEST_POSTGRES_URL")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_kind(request: pytest.FixtureRequest) -> str:
    """Both databases that the app server knows, one after the other."""
    return str(request.param)


@pytest.fixture
async def empty_database_url(database_kind: str, tmp_path: Path) -> AsyncIterator[str]:
    """A new database without tables."""
    if database_kind == "sqlite":
        yield _sqlite_url(tmp_path / "slipway.sqlite3")
        return
    async with postgres_database() as url:
        yield url


@pytest.fixture
async def database_url(
    database_kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[str]:
    """A new database with all tables, copied from one that was migrated before: that takes a tenth."""
    if database_kind == "sqlite":
        file = tmp_path / "slipway.sqlite3"
        shutil.copyfile(request.getfixturevalue("migrated_sqlite"), file)
        yield _sqlite_url(file)
        return
    async with postgres_database(request.getfixturevalue("migrated_postgres")) as url:
        yield url


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("migrated") / "slipway.sqlite3"
    _in_a_loop(_migrate(_sqlite_url(file)))
    return file


@pytest.fixture(scope="session")
def migrated_postgres() -> Iterator[str]:
    """The name of the database."""
    name = f"slipway_migrated_{uuid4().hex}"
    _in_a_loop(_on_postgres(f"CREATE DATABASE {name}"))
    _in_a_loop(_migrate(_postgres_url(name)))
    yield name
    _in_a_loop(_on_postgres(f"DROP DATABASE {name} WITH (FORCE)"))


@asynccontextmanager
async def postgres_database(template: str = "template1") -> AsyncIterator[str]:
    """The URL of a new database, dropped in the end."""
    name = f"slipway_{uuid4().hex}"
    await _on_postgres(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield _postgres_url(name)
    await _on_postgres(f"DROP DATABASE {name} WITH (FORCE)")


async def _migrate(url: str) -> None:
    database = Database(url)
    try:
        await migrate(database)
    finally:
        await database.close()


async def _on_postgres(statement: str) -> None:
    assert POSTGRES_URL is not None
    server = create_async_engine(POSTGRES_URL, isolation_level="AUTOCOMMIT")
    async with server.connect() as connection:
        await connection.execute(text(statement))
    await server.dispose()


def _in_a_loop(work: Coroutine[Any, Any, None]) -> None:
    """In a thread, since asynchronous tests have a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


def _sqlite_url(file: Path) -> str:
    return f"sqlite+aiosqlite:///{file}"


def _postgres_url(name: str) -> str:
    assert POSTGRES_URL is not None
    return f"{POSTGRES_URL.rsplit('/', 1)[0]}/{name}"
