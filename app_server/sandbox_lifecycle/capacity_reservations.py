"""Stores reservations of memory for sandboxes that are starting. All app servers on one database share these
reservations.

Reservations have consecutive numbers. To make a reservation, an app server reads all reservations and then
inserts one with the next number. If another app server has already inserted this number, the insertion fails.
So two app servers never reserve the same memory, and no app server waits for another.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.exc import IntegrityError

from app_server.core.database import UNAVAILABLE, Database, now
from app_server.sandbox_records.models import CapacityReservation

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=60)
"""How long a reservation is valid after its last renewal. The reservations of an app server that was killed
expire after this time.
"""
RENEW_SECONDS = 15.0


@dataclass(frozen=True)
class ReservationState:
    """The reservations of memory for starting sandboxes, at the time when they were read from the database.

    `last`: the number of the newest reservation; 0 if there is none. `sandbox_ids`: the sandboxes whose
    reservation has not expired. A reservation expires if its app server does not renew it, for example after
    a crash.
    """

    last: int
    sandbox_ids: frozenset[UUID]


class CapacityReservations:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self) -> ReservationState:
        """Returns the current memory reservations. To find all sandboxes that use memory, first call this
        method, and then ask the backend which sandboxes run.

        The order is important, because the reservation ends when the sandbox runs. In the other order, a
        sandbox could be missing in both results: it does not run yet when the backend is asked, and has no
        reservation any more after that.
        """
        async with self._database.read() as session:
            reservations = list(await session.scalars(select(CapacityReservation)))
        moment = now()
        return ReservationState(
            last=max((reservation.number for reservation in reservations), default=0),
            sandbox_ids=frozenset(
                reservation.sandbox_id for reservation in reservations if reservation.until > moment
            ),
        )

    async def take(self, sandbox_id: UUID, standing: ReservationState) -> int | None:
        """Makes a new memory reservation for the sandbox and returns the number of the reservation.
        `standing`: the reservations that `read` has returned. Returns None if another reservation was made
        after that call of `read`; the caller must then read the reservations again.
        """
        number = standing.last + 1
        try:
            async with self._database.session() as session:
                session.add(CapacityReservation(number=number, sandbox_id=sandbox_id, until=now() + LEASE))
                await session.flush()
                # The newest reservation always stays, so that the numbers do not start again.
                over = delete(CapacityReservation).where(
                    CapacityReservation.number < number, CapacityReservation.until <= now()
                )
                await session.execute(over)
        except IntegrityError:
            return None
        return number

    @asynccontextmanager
    async def renewing(self, number: int | None) -> AsyncIterator[None]:
        """Renews a memory reservation regularly while the `with` block runs. Otherwise the reservation would
        expire, so that a killed app server does not reserve memory for a long time. `number`: the number of
        the reservation; None means that there is no reservation to renew.
        """
        renewal = asyncio.create_task(self._renew(number), name="keep memory") if number is not None else None
        try:
            yield
        finally:
            if renewal is not None:
                renewal.cancel()
                await asyncio.gather(renewal, return_exceptions=True)

    async def release(self, number: int) -> None:
        await self._set_end(number, timedelta(0))

    async def _renew(self, number: int) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                await self._set_end(number, LEASE)
            except UNAVAILABLE as error:
                # The reservation is still valid for a while. The next renewal may succeed.
                cause = str(error).partition("\n")[0]
                logger.warning("a memory reservation was not renewed", extra={"cause": cause})

    async def _set_end(self, number: int, after: timedelta) -> None:
        async with self._database.session() as session:
            statement = (
                update(CapacityReservation)
                .where(CapacityReservation.number == number)
                .values(until=now() + after)
            )
            await session.execute(statement)
