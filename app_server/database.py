"""The engine, the commit edge, and what all tables share.

One request is one transaction: `Session` commits before the reply is sent, so a client that got an
answer can rely on it. Nobody else calls `commit()` except workers, which open their own sessions.
"""

import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import PlainSerializer
from sqlalchemy import JSON, DateTime, Enum, MetaData, TypeDecorator, event
from sqlalchemy.engine import Connection, Dialect
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase
from starlette.requests import HTTPConnection

from app_server.errors import problem, request_id

logger = logging.getLogger(__name__)

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}

Id = Annotated[UUID, PlainSerializer(lambda value: value.hex, return_type=str, when_used="json")]
"""An id in the API: a UUID, written without dashes, read with or without."""


def _utc_text(value: datetime) -> str:
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


Timestamp = Annotated[datetime, PlainSerializer(_utc_text, return_type=str, when_used="json")]
"""A moment in the API: UTC, ISO 8601 with a trailing Z."""


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC datetime on both databases (SQLite forgets the zone, so it is put back)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        del dialect
        if value is not None and value.tzinfo is None:
            raise ValueError("a naive datetime cannot be stored")
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        del dialect
        return value.replace(tzinfo=UTC) if value and value.tzinfo is None else value


class Base(DeclarativeBase):
    """Parent of all tables."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {datetime: UtcDateTime, dict[str, Any]: JSON, list[Any]: JSON}


def enum_column(choices: type[StrEnum]) -> Enum:
    """A column type that holds the values of `choices` as text of at most 40 characters."""
    return Enum(
        choices, native_enum=False, length=40, values_callable=lambda each: [item.value for item in each]
    )


def now() -> datetime:
    return datetime.now(UTC)


class Database:
    """An engine and the two kinds of session made from it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = _create_engine(url)
        self._write = async_sessionmaker(self.engine, expire_on_commit=False)
        self._read = async_sessionmaker(self.engine.execution_options(read_only=True), expire_on_commit=False)

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        """A transaction that commits when the block ends well and rolls back when it does not."""
        async with self._write() as session, session.begin():
            yield session

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        """A transaction for reading; never waits for a writer."""
        async with self._read() as session:
            yield session

    @property
    def sqlite_file(self) -> str | None:
        """The path of the database file; None on PostgreSQL."""
        return self.engine.url.database if self.engine.dialect.name == "sqlite" else None

    async def close(self) -> None:
        await self.engine.dispose()


async def _get_session(connection: HTTPConnection) -> AsyncIterator[AsyncSession]:
    async with connection.state.database.session() as session:
        yield session


async def _get_read_session(connection: HTTPConnection) -> AsyncIterator[AsyncSession]:
    async with connection.state.database.read() as session:
        yield session


# scope="function": the commit happens before the reply goes out.
Session = Annotated[AsyncSession, Depends(_get_session, scope="function")]
ReadSession = Annotated[AsyncSession, Depends(_get_read_session, scope="function")]


def install_database_errors(app: FastAPI) -> None:
    """Makes a database that cannot work a problem that says so; the request has changed nothing."""
    app.add_exception_handler(OperationalError, _on_database_error)
    app.add_exception_handler(InterfaceError, _on_database_error)


async def _on_database_error(request: Request, error: Exception) -> JSONResponse:
    logger.error("the database failed", exc_info=error, extra={"request_id": request_id(request)})
    return problem(
        request,
        status=503,
        code="database_unavailable",
        detail="The database cannot do its work at the moment. Nothing was changed.",
        fix="Look whether the server's disk is full and its database answers, then try again.",
        headers={"Retry-After": "5"},
    )


def _create_engine(url: str) -> AsyncEngine:
    if not url.startswith("sqlite"):
        return create_async_engine(url, pool_size=20, max_overflow=10, pool_pre_ping=True)
    engine = create_async_engine(url, connect_args={"timeout": 30, "factory": _SqliteConnection})
    event.listen(engine.sync_engine, "connect", _configure_sqlite)
    event.listen(engine.sync_engine, "begin", _begin_sqlite)
    return engine


class _SqliteConnection(sqlite3.Connection):
    """Gives its locks back when it is closed, whatever was under way.

    A task that is cancelled between a statement and its rows leaves a cursor behind. SQLite keeps a closed
    connection with open cursors, and its write lock, until the garbage collector finds them: for half a
    minute everybody else got "database is locked".
    """

    def close(self) -> None:
        if self.in_transaction:
            self.rollback()
        super().close()


def _configure_sqlite(connection: Any, _record: object) -> None:
    # We begin transactions ourselves (below); the driver must not.
    connection.isolation_level = None
    cursor = connection.cursor()
    # The write-ahead log is a property of the file: migrate() switches it on once.
    for pragma in ("synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A deferred transaction that reads, then writes, fails at once with "database is locked" when another
    # wrote meanwhile; taking the write lock first makes it wait its turn instead.
    read_only = connection.get_execution_options().get("read_only", False)
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")
