"""Informs the workers of other app servers about new jobs, through the NOTIFY command of PostgreSQL. This is
used if several app servers share a PostgreSQL database but no Redis.

Each app server has one connection that sends and receives notifications. A notification is sent after the
transaction that stores the job, and not as a part of it. Otherwise jobs would be stored slowly, because
PostgreSQL commits only one transaction with a notification at a time. If a notification is lost, the worker
still finds the job, because it reads the database regularly.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from agent_runtime.time_limits import time_limit
from app_server.core.database import UNAVAILABLE, Database

CHANNEL: Final = "slipway_jobs"
HEARTBEAT_SECONDS: Final = 30.0
ANSWER_SECONDS: Final = 5.0
RECONNECT_SECONDS: Final = 1.0

logger = logging.getLogger(__name__)


class Wakeups:
    """A connection to PostgreSQL that exchanges notifications about new jobs with the other app servers.
    `run` sends and receives the notifications until it is cancelled. `wake`: a function that is called when
    another server reports a new job. It is also called each time the connection is made, because
    notifications may have been lost before.
    """

    def __init__(self, database: Database, wake: Callable[[], None]) -> None:
        self._database = database
        self._wake = wake
        self._to_tell = asyncio.Event()
        self._is_away = False

    def tell(self) -> None:
        """Notifies the workers of the other app servers that there may be a new job. Several calls in quick
        succession send only one notification.
        """
        self._to_tell.set()

    async def run(self) -> None:
        import asyncpg

        while True:
            try:
                await self._stay_connected()
            except (
                *UNAVAILABLE,
                OSError,
                TimeoutError,
                asyncpg.PostgresError,
                asyncpg.InterfaceError,
                # A statement was sent after PostgreSQL had reported the end of the connection.
                asyncpg.InternalClientError,
            ) as error:
                if not self._is_away:
                    logger.warning("other servers cannot be told of jobs", extra={"error": str(error)})
                self._is_away = True
                self._to_tell.set()  # by the next connection: the message may be lost
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _stay_connected(self) -> None:
        async with self._database.engine.connect() as connection:
            driver: Any = (await connection.get_raw_connection()).driver_connection
            try:
                own = driver.get_server_pid()

                def heard(_connection: object, sender: int, _channel: str, _payload: object) -> None:
                    if sender != own:
                        self._wake()

                await driver.add_listener(CHANNEL, heard)
                # A connection that was cut is noticed at once: the next statement fails.
                driver.add_termination_listener(lambda _connection: self.tell())
                self._is_away = False
                self._wake()  # for what was told while this server did not listen
                while True:
                    await self._wait()
                    must_notify = self._to_tell.is_set()
                    # Cleared before the message is sent, so that a job that comes meanwhile causes the next
                    # message.
                    self._to_tell.clear()
                    await driver.execute(
                        f"NOTIFY {CHANNEL}" if must_notify else "SELECT 1", timeout=ANSWER_SECONDS
                    )
            finally:
                # The pool must not give a listening connection to others.
                await connection.invalidate()

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            async with time_limit(HEARTBEAT_SECONDS):
                await self._to_tell.wait()
