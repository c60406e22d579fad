"""Configures SQLite for the app server: the order of writers, the durability of data, and the use of threads.

The SQLite driver runs every step of a statement in a thread. This suits long statements. For a statement that
finds a row by its index, the switch between threads takes much longer than the statement. So there is a
second kind of connection. It runs statements in the event loop's thread, and uses another thread only for
steps that may have to wait.
"""

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import aiosqlite
from sqlalchemy import event
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from agent_runtime.time_limits import time_limit

logger = logging.getLogger(__name__)

_BEGIN_TO_READ, _BEGIN_TO_WRITE = "BEGIN", "BEGIN IMMEDIATE"
_TURN_SECONDS = 5.0
"""How long a writer waits for its turn in WriteTurns, in seconds. After this time it asks SQLite for the
write lock without having its turn.
"""


def create_engines(url: str) -> tuple[AsyncEngine, AsyncEngine]:
    """Returns two database engines for the same SQLite file. Connections of the first engine run all
    statements in threads. Connections of the second engine use threads only to wait for locks and disks. The
    writers of both engines wait in one queue.
    """
    turns = WriteTurns()
    return _engine(url, _OrderedConnection, turns), _engine(url, _BriefConnection, turns)


def _engine(url: str, kind: "type[_OrderedConnection]", turns: "WriteTurns") -> AsyncEngine:
    def connect(database: str, **kwargs: Any) -> "_OrderedConnection":
        return kind(partial(sqlite3.connect, database, **kwargs), turns)

    return _configured(create_async_engine(url, connect_args={**_CONNECT_ARGS, "async_creator_fn": connect}))


class _Connection(sqlite3.Connection):
    """An SQLite connection that releases its locks when it is closed, even if a statement is not finished.

    A task that is cancelled before it has read all rows of a statement leaves a cursor open. SQLite then
    keeps the closed connection and its write lock until garbage collection. Without this class, all other
    connections would get the error "database is locked" for half a minute.
    """

    def close(self) -> None:
        if self.in_transaction:
            self.rollback()
        super().close()


_CONNECT_ARGS = {"timeout": 30, "factory": _Connection}


class WriteTurns:
    """A queue of the writers in this process. It gives them SQLite's write lock in the order of their
    requests.

    SQLite itself has no order. A waiting writer sleeps for up to 100 ms between two tries, and the first
    writer that tries again gets the lock. Among many writers, some would wait for seconds. This queue only
    sets the order; SQLite's own lock protects the data. Therefore the queue can let a writer begin after
    _TURN_SECONDS even if the previous writer has not ended its turn.
    """

    def __init__(self) -> None:
        self._holder: object | None = None
        self._waiting: deque[tuple[object, asyncio.Future[None]]] = deque()

    async def take(self, writer: object) -> None:
        """Waits until it is this writer's turn: until all earlier writers have ended their turns, or for at
        most _TURN_SECONDS.
        """
        if self._holder is None or self._holder is writer:
            self._holder = writer
            return
        entry = (writer, asyncio.get_running_loop().create_future())
        self._waiting.append(entry)
        try:
            async with time_limit(_TURN_SECONDS):
                await entry[1]
        except BaseException as error:
            if entry in self._waiting:
                self._waiting.remove(entry)
            if not isinstance(error, TimeoutError):
                self.give_back(writer)
                raise
            self._holder = writer

    def give_back(self, writer: object) -> None:
        """Ends the turn of this writer and wakes the next writer in the queue. Does nothing if another writer
        has the turn.
        """
        if self._holder is not writer:
            return
        self._holder = None
        while self._waiting:
            following, woken = self._waiting.popleft()
            if not woken.done():
                self._holder = following
                woken.set_result(None)
                return


class _OrderedConnection(aiosqlite.Connection):
    """An SQLite connection that waits for its turn in the queue of the writers of this process before it
    begins to write.
    """

    def __init__(self, connector: Callable[[], sqlite3.Connection], turns: WriteTurns) -> None:
        super().__init__(connector, iter_chunk_size=64)
        self._thread.daemon = True  # as the dialect has it for its own ones
        self._thread.run = partial(_run_until_loop_is_closed, self._thread.run)  # type: ignore[method-assign]
        self._turns = turns
        self._in_thread: set[object] = set()
        self._is_writing = False

    async def _execute(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        begins = _BEGIN_TO_WRITE in args[:1]
        ends = fn in (self._conn.commit, self._conn.rollback, self._conn.close)
        if begins:
            await self._turns.take(self)
        try:
            result = await self._run(fn, *args, **kwargs)
        except BaseException:
            if begins:
                self._turns.give_back(self)
            raise
        if begins or ends:
            self._is_writing = begins
        if ends:
            self._turns.give_back(self)
        return result

    async def _run(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        # A cancelled step may still run in its thread. Then all further steps must wait behind it.
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
        """Returns whether this step may have to wait for a lock or for the disk. Such a step must run in a
        thread, because it would block the event loop. A step is one call of the SQLite driver, for example to
        execute a statement. `fn`, `args`: the function of the driver that performs the step, and its
        arguments.
        """
        if fn == self._conn.rollback:
            return self._is_writing
        is_instant = getattr(fn, "__name__", None) in {"cursor", "close"} or args[:1] == (_BEGIN_TO_READ,)
        return fn == self._conn.close or not is_instant

    def stop(self) -> asyncio.Future[Any] | None:
        self._turns.give_back(self)
        return super().stop()


def _run_until_loop_is_closed(run: Callable[[], None]) -> None:
    """Runs the thread of a connection. The thread ends without an error if the event loop, to which it
    reports the end of each step, has been closed. At this time nothing waits for the step any more.
    """
    try:
        run()
    except RuntimeError as error:  # errors of the steps themselves are not raised here
        logger.debug("the event loop was closed before a step ended", exc_info=error)


class _BriefConnection(_OrderedConnection):
    """An SQLite connection that runs most statements in the event loop's thread.

    Only two kinds of steps run in another thread, because they may take long: steps that wait for the write
    lock, and steps that write to the disk.
    """

    def _may_wait(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> bool:
        return fn in (self._conn.commit, self._conn.close) or _BEGIN_TO_WRITE in args[:1]


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
    connection.exec_driver_sql(_BEGIN_TO_READ if read_only else _BEGIN_TO_WRITE)
