"""The database engines, the transactions of requests, and the base class of all tables.

Each request has one transaction. A route that takes a parameter of the type `Session` commits before its
reply is sent, so a client that gets a successful reply can rely on the change. Only background workers call
`commit()` themselves, in sessions that they open.
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
from pydantic import AfterValidator, PlainSerializer
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
"""The type of ids in the API. An id is a UUID. Replies contain it without dashes; requests may contain it
with or without dashes.
"""


def _utc_text(value: datetime) -> str:
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


Timestamp = Annotated[datetime, PlainSerializer(_utc_text, return_type=str, when_used="json")]
"""The type of times in the API: UTC in the format ISO 8601, with a Z at the end."""


def _as_utc(value: datetime) -> datetime:
    # The wire's own timestamps carry no zone.
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        return aware.astimezone(UTC)
    except OverflowError:
        raise ValueError("the moment is out of range") from None


Moment = Annotated[datetime, AfterValidator(_as_utc)]
"""A time that a client has sent, converted to UTC. A time without an offset counts as UTC."""


class UtcDateTime(TypeDecorator[datetime]):
    """A database column type for times in UTC, for SQLite and PostgreSQL. SQLite does not store the time
    zone, so the time zone is added when a value is read.
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
    """The base class of the SQLAlchemy models of all database tables."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {datetime: UtcDateTime, dict[str, Any]: JSON, list[Any]: JSON}


def enum_column(choices: type[StrEnum]) -> Enum:
    """Returns a database column type that stores the values of the enum `choices` as text of at most 40
    characters.
    """
    return Enum(
        choices, native_enum=False, length=40, values_callable=lambda each: [item.value for item in each]
    )


def now() -> datetime:
    return datetime.now(UTC)


class Database:
    """The connections to the database. The methods open database sessions for reading and for writing.

    There are ordinary sessions and brief sessions. Brief sessions are only for short statements that find
    their rows by an index. On SQLite, such statements are faster in a brief session, because they run in the
    event loop's thread. A long statement in this thread would block all other work.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine, self._brief_engine = _create_engines(url)
        self.session_info: dict[str, Any] = {}
        """The values that are copied into the `info` of each new session for writing."""
        self._write = async_sessionmaker(self.engine, expire_on_commit=False)
        self._read = async_sessionmaker(_reading(self.engine), expire_on_commit=False)
        self._write_briefly = async_sessionmaker(self._brief_engine, expire_on_commit=False)
        self._read_briefly = async_sessionmaker(_reading(self._brief_engine), expire_on_commit=False)

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        """Yields a session for writing, with a transaction. The transaction is committed when the block ends,
        and rolled back if the block raises an error.
        """
        async with self._write(info=dict(self.session_info)) as session, session.begin():
            yield session

    @asynccontextmanager
    async def brief_session(self) -> AsyncIterator[AsyncSession]:
        """Yields a session for writing like `session`, but only for short statements that find their rows by
        an index.
        """
        async with self._write_briefly(info=dict(self.session_info)) as session, session.begin():
            yield session

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        """Yields a session for reading. It never waits for a session that writes."""
        async with self._read() as session:
            yield session

    @asynccontextmanager
    async def brief_read(self) -> AsyncIterator[AsyncSession]:
        """Yields a session for reading like `read`, but only for short statements that find their rows by an
        index.
        """
        async with self._read_briefly() as session:
            yield session

    @property
    def sqlite_file(self) -> str | None:
        """The path of the SQLite file. None if the database is PostgreSQL."""
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
"""The errors that are raised if the database cannot be used at the moment, for example because it cannot be
reached.
"""


def install_database_errors(app: FastAPI) -> None:
    """Makes `app` reply to database failures with a problem document (RFC 9457) and status 503. The failed
    request has changed nothing in the database.
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
    """Returns two database engines: one for ordinary sessions, and one for sessions with only a few short
    statements. On PostgreSQL both are the same engine.
    """
    if url.startswith("sqlite"):
        return sqlite.create_engines(url)
    engine = postgres.create_engine(url)
    return engine, engine


def _reading(engine: AsyncEngine) -> AsyncEngine:
    return engine.execution_options(read_only=True)
