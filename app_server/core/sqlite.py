"""SQLite as this server uses it: waiting for the write lock, durability, and threads.

The driver runs every step of a statement in a thread. This suits long statements. For a statement that finds
a row by its index, the switch between threads costs much more than the statement itself. So there is a second
kind of connection, which leaves the event loop's thread only where it may have to wait.
"""

import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any

import aiosqlite
from sqlalchemy import event
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

_BEGIN_TO_WRITE = "BEGIN IMMEDIATE"


def create_engine(url: str) -> AsyncEngine:
    """Creates an engine whose connections run all work in threads."""
    return _configured(create_async_engine(url, connect_args=_CONNECT_ARGS))


def create_brief_engine(url: str) -> AsyncEngine:
    """Creates an engine whose connections use threads only to wait for locks and disks."""
    return _configured(
        create_async_engine(url, connect_args={**_CONNECT_ARGS, "async_creator_fn": _connect_briefly})
    )


class _Connection(sqlite3.Connection):
    """A connection that releases its locks when it is closed, even during a statement.

    A task that is cancelled between a statement and its rows leaves a cursor open. SQLite keeps a closed
    connection with open cursors, and its write lock, until garbage collection. For half a minute, all other
    connections got "database is locked".
    """

    def close(self) -> None:
        if self.in_transaction:
            self.rollback()
        super().close()


_CONNECT_ARGS = {"timeout": 30, "factory": _Connection}


class _BriefConnection(aiosqlite.Connection):
    """A connection that runs most statements in the event loop's thread.

    Readers and the holder of the write lock do not wait for others. Only getting the write lock and writing
    to the disk may take long.
    """

    def __init__(self, connector: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connector, iter_chunk_size=64)
        self._thread.daemon = True  # as the dialect has it for its own ones
        self._in_thread: set[object] = set()

    async def _execute(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        # What was cancelled while it waited is still at work in its thread: then everything queues behind it.
        if not self._in_thread and not self._may_wait(fn, args):
            return fn(*args, **kwargs)
        token = object()
        self._in_thread.add(token)

        def in_thread() -> Any:
            try:
                return fn(*args, **kwargs)
            finally:
                self._in_thread.discard(token)

        return await super()._execute(in_thread)  # type: ignore[no-untyped-call]

    def _may_wait(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> bool:
        return fn in (self._conn.commit, self._conn.close) or _BEGIN_TO_WRITE in args[:1]


def _connect_briefly(database: str, **kwargs: Any) -> _BriefConnection:
    return _BriefConnection(partial(sqlite3.connect, database, **kwargs))


def _configured(engine: AsyncEngine) -> AsyncEngine:
    event.listen(engine.sync_engine, "connect", _configure)
    event.listen(engine.sync_engine, "begin", _begin)
    return engine


def _configure(connection: Any, _record: object) -> None:
    # We begin transactions ourselves (below); the driver must not.
    connection.isolation_level = None
    cursor = connection.cursor()
    # The write-ahead log is a property of the file: migrate() switches it on once.
    for pragma in ("synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    # A deferred transaction that reads, then writes, fails at once with "database is locked" when another
    # wrote meanwhile; taking the write lock first makes it wait its turn instead.
    read_only = connection.get_execution_options().get("read_only", False)
    connection.exec_driver_sql("BEGIN" if read_only else _BEGIN_TO_WRITE)
