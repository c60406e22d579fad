"""Creates connections to PostgreSQL with time limits, so that no request waits for the database forever.

If PostgreSQL does not answer, for any reason, the caller gets an OperationalError, and the connection is
closed.
"""

from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DisconnectionError, OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

CONNECT_SECONDS = 10.0
STATEMENT_SECONDS = 30.0
PING_SECONDS = 5.0

_NOT_OURS = frozenset({"08", "40", "53", "57", "58"})
"""The classes of SQLSTATE error codes that are not caused by the request: failed connections, rollbacks
because of other transactions, missing resources, actions of the operator, and system errors.
"""


def create_engine(url: str, *, is_patient: bool = False) -> AsyncEngine:
    """Returns a database engine for PostgreSQL. Its statements have a time limit of STATEMENT_SECONDS, or no
    time limit if `is_patient` is true. The limit is enforced in this process and not in the database server,
    because a server that hangs cannot enforce it. `url`: the address of the database.
    """
    limits = {"timeout": CONNECT_SECONDS, "command_timeout": None if is_patient else STATEMENT_SECONDS}
    engine = create_async_engine(
        url, pool_size=20, max_overflow=10, connect_args={"async_creator_fn": _connect, **limits}
    )
    event.listen(engine.sync_engine, "checkout", _give_up_dead)
    event.listen(engine.sync_engine, "handle_error", _as_operational)
    return engine


async def _connect(*args: Any, **kwargs: Any) -> Any:
    import asyncpg
    from sqlalchemy.dialects.postgresql.asyncpg import AsyncAdapt_asyncpg_dbapi

    try:
        return await asyncpg.connect(*args, **kwargs)
    except (OSError, TimeoutError, asyncpg.PostgresError) as error:
        reason = str(error) or "it does not answer"
        raise AsyncAdapt_asyncpg_dbapi.OperationalError(reason, error) from error  # type: ignore[no-untyped-call]


def _give_up_dead(connection: Any, record: Any, _proxy: object) -> None:
    """Tests a connection from the pool before it is used again. Raises DisconnectionError if the connection
    is dead; the pool then replaces it. Unlike SQLAlchemy's pool_pre_ping, the test has a time limit, so that
    a database server that hangs cannot block callers.
    """
    if not record.info.setdefault("was_used", False):
        record.info["was_used"] = True
        return
    import asyncpg

    # InternalClientError: the connection's last statement was cancelled and has not ended yet.
    broken = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
    try:
        connection.run_async(lambda driver: driver.execute("SELECT 1", timeout=PING_SECONDS))
    except (OSError, TimeoutError, *broken) as error:
        raise DisconnectionError from error


def _as_operational(context: ExceptionContext) -> OperationalError | None:
    error = context.original_exception
    # InternalClientError: a statement was sent on a connection that has ended, or whose statement was
    # cancelled.
    confused = getattr(context.dialect.loaded_dbapi, "InternalClientError")  # noqa: B009 (the driver's own)
    if isinstance(error, (TimeoutError, OSError, confused)):
        context.is_disconnect = True
    elif str(getattr(error, "sqlstate", None) or "")[:2] not in _NOT_OURS:
        return None
    return OperationalError(
        context.statement, None, error, hide_parameters=True, connection_invalidated=context.is_disconnect
    )
