"""Fixtures that yield a new database for each test, on SQLite or on PostgreSQL."""

import os
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from tests.support.migrated import copy_migrated_sqlite, in_a_loop, migrate_url

POSTGRES_URL = os.environ.get("SLIPWAY_TEST_POSTGRES_URL")


SQLITE = pytest.param("sqlite")
POSTGRES = pytest.param("postgres", marks=pytest.mark.postgres)

_WITH_PROGRAMS = {"home", "way_out"}
"""Fixtures that start sandboxes or other programs. Their tests take seconds and send few SQL statements."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--both-databases", action="store_true", help="run each test of stored data on both")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Chooses the databases of a test, unless the test parametrizes `database_kind` itself.

    A test of stored data runs on SQLite or on PostgreSQL. A hash of the test's name decides which one, so the
    choice is the same in each run, and each feature is tested on both. A test that starts programs runs on
    SQLite. A test with the marker `both_databases` runs on both databases. With the option
    `--both-databases`, all tests run on both.
    """
    if "database_kind" not in metafunc.fixturenames or _names_kinds(metafunc.definition):
        return
    if metafunc.definition.get_closest_marker("both_databases") or metafunc.config.getoption(
        "--both-databases"
    ):
        kinds = [SQLITE, POSTGRES]
    elif _WITH_PROGRAMS & {*metafunc.fixturenames}:
        kinds = [SQLITE]
    else:
        kinds = [POSTGRES if zlib.crc32(metafunc.function.__name__.encode()) % 2 else SQLITE]
    metafunc.parametrize("database_kind", kinds, indirect=True)


def _names_kinds(test: pytest.Function) -> bool:
    return any("database_kind" in marker.args[0] for marker in test.iter_markers("parametrize"))


@pytest.fixture
def database_kind(request: pytest.FixtureRequest) -> str:
    """The kind of the test's database: `sqlite` or `postgres`."""
    return str(request.param)


@pytest.fixture
async def empty_database_url(database_kind: str, tmp_path: Path) -> AsyncIterator[str]:
    """Yields the URL of a new database without tables."""
    if database_kind == "sqlite":
        yield _sqlite_url(tmp_path / "slipway.sqlite3")
        return
    async with postgres_database() as url:
        yield url


@pytest.fixture
async def database_url(
    database_kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[str]:
    """Yields the URL of a new database with all tables. The database is a copy of a finished one, because a
    copy takes only a tenth of the time of a migration.
    """
    if database_kind == "sqlite":
        file = tmp_path / "slipway.sqlite3"
        copy_migrated_sqlite(file)
        yield _sqlite_url(file)
        return
    async with postgres_database(request.getfixturevalue("migrated_postgres")) as url:
        yield url


@pytest.fixture(scope="session")
def migrated_postgres() -> Iterator[str]:
    """Yields the name of a PostgreSQL database with all tables and no rows, which tests copy."""
    name = f"slipway_migrated_{uuid4().hex}"
    in_a_loop(_on_postgres(f"CREATE DATABASE {name}"))
    in_a_loop(migrate_url(_postgres_url(name)))
    yield name
    in_a_loop(_on_postgres(f"DROP DATABASE {name} WITH (FORCE)"))


@asynccontextmanager
async def postgres_database(template: str = "template1") -> AsyncIterator[str]:
    """Yields the URL of a new PostgreSQL database, a copy of `template`. Drops the database in the end."""
    name = f"slipway_{uuid4().hex}"
    await _on_postgres(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield _postgres_url(name)
    await _on_postgres(f"DROP DATABASE {name} WITH (FORCE)")


async def _on_postgres(statement: str) -> None:
    assert POSTGRES_URL is not None
    server = create_async_engine(POSTGRES_URL, isolation_level="AUTOCOMMIT")
    async with server.connect() as connection:
        await connection.execute(text(statement))
    await server.dispose()


def _sqlite_url(file: Path) -> str:
    return f"sqlite+aiosqlite:///{file}"


def _postgres_url(name: str) -> str:
    assert POSTGRES_URL is not None
    return f"{POSTGRES_URL.rsplit('/', 1)[0]}/{name}"
