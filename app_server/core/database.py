"""The database engines, the transactions of requests, and the base class of all tables.

Each request has one transaction. `Session` commits before the reply is sent, so a client that gets a
successful reply can rely on the change. Only workers also call `commit()`, in sessions that they open
themselves.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import PlainSerializer
from sqlalchemy import JSON, DateTime, Enum, MetaData, TypeDecorator
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionFree
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker
from sqlalchemy.orm import DeclarativeBase

from app_server.core import postgres, sqlite
from app_server.core.errors import problem, request_id
from app_server.core.server_objects import from_server

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
"""A time in the API: UTC, ISO 8601 with a trailing Z."""


class UtcDateTime(TypeDecorator[datetime]):
    """A column type for UTC datetimes with a time zone, on both databases. SQLite does not store the zone, so
    the zone is added when a value is read.
    """

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
    """The base class of all tables."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {datetime: UtcDateTime, dict[str, Any]: JSON, list[Any]: JSON}


def enum_column(choices: type[StrEnum]) -> Enum:
    """Returns a column type that holds the values of `choices` as text of at most 40 characters."""
    return Enum(
        choices, native_enum=False, length=40, values_callable=lambda each: [item.value for item in each]
    )


def now() -> datetime:
    return datetime.now(UTC)


class Database:
    """The engines of the database and the sessions made from them.

    The brief sessions are for the few statements that every model call waits for. These statements find their
    rows by an index. On SQLite they run in the event loop's thread, so a long statement in a brief session
    would block all other work.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine, self._brief_engine = _create_engines(url)
        self.session_info: dict[str, Any] = {}
        """What each new session for writing gets as its `info`."""
        self._write = async_sessionmaker(self.engine, expire_on_commit=False)
        self._read = async_sessionmaker(_reading(self.engine), expire_on_commit=False)
        self._write_briefly = async_sessionmaker(self._brief_engine, expire_on_commit=False)
        self._read_briefly = async_sessionmaker(_reading(self._brief_engine), expire_on_commit=False)

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        """Yields a session with a transaction. It commits when the block ends normally and rolls back after
        an error.
        """
        async with self._write(info=dict(self.session_info)) as session, session.begin():
            yield session

    @asynccontextmanager
    async def brief_session(self) -> AsyncIterator[AsyncSession]:
        """Yields a session like `session` does, but for brief statements only."""
        async with self._write_briefly(info=dict(self.session_info)) as session, session.begin():
            yield session

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        """Yields a session for reading. The session never waits for a writer."""
        async with self._read() as session:
            yield session

    @asynccontextmanager
    async def brief_read(self) -> AsyncIterator[AsyncSession]:
        """Yields a session like `read` does, but for brief statements only."""
        async with self._read_briefly() as session:
            yield session

    @property
    def sqlite_file(self) -> str | None:
        """The path of the database file; None on PostgreSQL."""
        return self.engine.url.database if self.engine.dialect.name == "sqlite" else None

    async def close(self) -> None:
        await self.engine.dispose()
        await self._brief_engine.dispose()


ServerDatabase = Annotated[Database, from_server("database")]


async def _get_session(database: ServerDatabase) -> AsyncIterator[AsyncSession]:
    async with database.session() as session:
        yield session


async def _get_read_session(database: ServerDatabase) -> AsyncIterator[AsyncSession]:
    async with database.read() as session:
        yield session


# scope="function": the commit happens before the reply goes out.
Session = Annotated[AsyncSession, Depends(_get_session, scope="function")]
ReadSession = Annotated[AsyncSession, Depends(_get_read_session, scope="function")]


UNAVAILABLE = (OperationalError, InterfaceError, NoConnectionFree)
"""The errors that are raised when the database cannot work at the moment."""


def install_database_errors(app: FastAPI) -> None:
    """Makes `app` reply to database failures with a 503 problem document. The failed request has not changed
    anything in the database.
    """
    for failure in UNAVAILABLE:
        app.add_exception_handler(failure, on_database_error)


async def on_database_error(request: Request, error: Exception) -> JSONResponse:
    reason = str(error).partition("\n")[0]
    logger.error("the database failed", extra={"error": reason, "request_id": request_id(request)})
    return problem(
        request,
        status=503,
        code="database_unavailable",
        detail="The database cannot work at the moment. Nothing was changed.",
        fix="Check that the server's disk has space and that its database answers, then try again.",
        headers={"Retry-After": "5"},
    )


def _create_engines(url: str) -> tuple[AsyncEngine, AsyncEngine]:
    """Returns the engine for ordinary sessions and the engine for brief sessions. On PostgreSQL both are the
    same engine.
    """
    if url.startswith("sqlite"):
        return sqlite.create_engines(url)
    engine = postgres.create_engine(url)
    return engine, engine


def _reading(engine: AsyncEngine) -> AsyncEngine:
    return engine.execution_options(read_only=True)
