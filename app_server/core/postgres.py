"""PostgreSQL as this server uses it: no request waits for it for ever.

However it fails to answer, callers see an OperationalError, and the connection is given up.
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
"""Classes of SQLSTATE: connections, rolled back for another's sake, resources, the operator, the system."""


def create_engine(url: str, *, is_patient: bool = False) -> AsyncEngine:
    """is_patient: its statements may take as long as they take.

    The time of the others is counted here: a frozen server counts nothing.
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
    """As pool_pre_ping, which has no deadline: a frozen server would block its callers."""
    if not record.info.setdefault("was_used", False):
        record.info["was_used"] = True
        return
    import asyncpg

    # The last one: of a connection whose statement was cancelled and has not ended yet.
    broken = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
    try:
        connection.run_async(lambda driver: driver.execute("SELECT 1", timeout=PING_SECONDS))
    except (OSError, TimeoutError, *broken) as error:
        raise DisconnectionError from error


def _as_operational(context: ExceptionContext) -> OperationalError | None:
    error = context.original_exception
    # The last one: a connection that was ended, or whose statement was cancelled, is asked once more.
    confused = getattr(context.dialect.loaded_dbapi, "InternalClientError")  # noqa: B009 (the driver's own)
    if isinstance(error, (TimeoutError, OSError, confused)):
        context.is_disconnect = True
    elif str(getattr(error, "sqlstate", None) or "")[:2] not in _NOT_OURS:
        return None
    return OperationalError(
        context.statement, None, error, hide_parameters=True, connection_invalidated=context.is_disconnect
    )
