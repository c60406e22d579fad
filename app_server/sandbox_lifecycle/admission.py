"""Decides which sandboxes may start now: as many as fit into the memory for sandboxes. All other starts of
sandboxes wait in a queue.

The memory in use is computed from the database rows of sandboxes, the containers and processes that run, and
the memory reservations of starts (capacity_reservations.py). So a restart of the app server loses no data,
and several app servers on one database never admit more sandboxes than fit into the memory. After a restart,
starts that still wait join the queue again.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID

from agent_runtime.time_limits import time_limit
from app_server.core.background import finish
from app_server.core.config import Config
from app_server.core.database import now
from app_server.core.errors import NotFound, StartFailure
from app_server.core.start_report import Report
from app_server.sandbox_backends.backend import MemoryCapacity
from app_server.sandbox_lifecycle.admission_queue import AdmissionQueue, Waiting
from app_server.sandbox_lifecycle.capacity_reservations import CapacityReservations, ReservationState
from app_server.sandbox_lifecycle.idle_sleep import Sleep
from app_server.sandbox_lifecycle.machines import Machines
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandbox_records.rows import Rows

logger = logging.getLogger(__name__)

IDLE_SECONDS = 120.0
"""A sandbox must have been idle (no agent works in it) for this many seconds before its container or process
may be ended to free memory for another sandbox.
"""


class NoCapacityError(Exception):
    """The error that is raised if there was not enough memory for the start of a sandbox within the time
    limit. The error's text gives the position of the start in the queue.
    """


class Admission:
    def __init__(
        self, config: Config, machines: Machines, rows: Rows, sleep: Sleep, reservations: CapacityReservations
    ) -> None:
        self._config = config
        self._reservations = reservations
        self._machines = machines
        self._rows = rows
        self._sleep = sleep
        self._queue = AdmissionQueue()
        self._admitted: Counter[UUID] = Counter()
        self._lock = asyncio.Lock()
        self._spare_of_others = 0

    @asynccontextmanager
    async def reservation(
        self, sandbox_id: UUID, report: Report, patience_seconds: float | None = None
    ) -> AsyncIterator[None]:
        """Waits until there is enough memory to start the sandbox. Then reserves the memory while the `with`
        block runs. The caller starts the sandbox in this block. After the block, the running sandbox itself
        counts as memory in use.

        `report`: a function that is called with a sentence about the start's position in the queue, each time
        the sentence changes. `patience_seconds`: the maximum time to wait; None means no limit. Raises
        NoCapacityError if there is not enough memory within this time. Raises NotFound if there is no such
        sandbox. Raises StartFailure if the sandbox cannot start.
        """
        await self._machines.await_engine()
        sandbox = await self._machines.require(sandbox_id)
        waiting = Waiting(sandbox_id, sandbox.user_id, _since(sandbox), report)
        self._queue.join(waiting)
        try:
            await self._await_admission(waiting, patience_seconds)
            async with self._reservations.renewing(waiting.reservation):
                yield
        finally:
            self._queue.leave(waiting)
            if waiting.is_served:
                self._admitted -= Counter([sandbox_id])
            waiting.admitted.cancel()
            if waiting.reservation is not None:
                await self._reservations.release(waiting.reservation)

    def is_waiting(self, sandbox_id: UUID) -> bool:
        return bool(self._queue.of(sandbox_id))

    def drop(self, sandbox_id: UUID) -> None:
        """Removes all waiting starts of a deleted sandbox from the queue. These starts then fail with
        NotFound.
        """
        for waiting in self._queue.of(sandbox_id):
            self._queue.leave(waiting)
            waiting.refuse(NotFound("No such sandbox."))

    async def advance(self) -> None:
        """Admits starts of sandboxes from the queue while there is enough memory or memory can be freed. Then
        reports to each remaining start its position in the queue.

        Raises StartFailure if the container engine does not answer.
        """
        async with self._lock:
            capacities = await self._machines.backend.capacities()
            while await self._let_in(capacities):
                continue
            await self._tell()

    async def check(self) -> None:
        """Runs one round of the background task for sandbox starts that wait for memory. If starts wait,
        admits those for which there is enough memory now.

        If no start waits or runs, the round starts at most one container in advance for a later sandbox. It
        does this if too few such containers are ready and there is enough memory.
        """
        try:
            if self._queue:
                await self.advance()
            elif not self._admitted and self._machines.backend.lacks_spare:
                await self._replenish()
        except StartFailure as failure:
            logger.warning("no start can be let in", extra={"cause": failure.cause})

    async def _await_admission(self, waiting: Waiting, patience_seconds: float | None) -> None:
        try:
            async with time_limit(patience_seconds):
                # Not interrupted: a machine that is only half put to sleep would be forgotten.
                await finish(self.advance())
                await waiting.admitted
        except TimeoutError:
            if not waiting.is_served:
                raise NoCapacityError(waiting.last_sentence or "It waits for its turn.") from None

    async def _let_in(self, capacities: Sequence[int] | None) -> bool:
        """Admits the next start in the queue if there is enough memory for its sandbox. `capacities`: the
        memory of each host in bytes; None means no limit.

        Returns False if no start can be admitted now. Returns True if the caller must call this method again.
        This is so if a start was admitted, if another app server has made a reservation meanwhile, or if the
        start has left the queue meanwhile.
        """
        if capacities is None:
            return bool(self._queue) and self._serve(self._queue.in_order()[0])
        standing = await self._reservations.read()
        waiting = await self._next(capacities, standing)
        if waiting is None:
            return False
        reservation = await self._reservations.take(waiting.sandbox_id, standing)
        if reservation is None:
            return True  # another server was faster: read the state again
        if waiting not in self._queue:
            await self._reservations.release(reservation)
            return True
        waiting.reservation = reservation
        return self._serve(waiting)

    def _serve(self, waiting: Waiting) -> bool:
        self._admitted[waiting.sandbox_id] += 1
        self._queue.serve(waiting)
        return True

    async def _next(self, capacities: Sequence[int], standing: ReservationState) -> Waiting | None:
        """Returns the waiting start that is admitted next. If there is not enough memory, first tries to free
        memory by ending another sandbox's container or process. Returns None if no sandbox can start now.

        A start whose sandbox already uses memory is chosen first, because it needs no more memory. Otherwise,
        the first start in the queue whose host has enough memory is chosen. A start fails if no host has as
        much memory as its sandbox needs.

        `capacities`: the memory of each host in bytes. `standing`: the current memory reservations.
        """
        while queue := self._queue.in_order():
            self._spare_of_others = await self._machines.backend.spare_bytes_of_others()
            if self._config.sandbox_memory_bytes > max(capacities):
                self._refuse(queue[0], max(capacities))
                continue
            held = await self._held(capacities, standing)
            if own := next((each for each in queue if each.sandbox_id in held), None):
                if len(capacities) > 1:
                    # After a restart, the backend may not know yet on which host this sandbox is.
                    await self._machines.backend.memory_capacity(own.sandbox_id, held - {own.sandbox_id})
                return own
            rooms = [
                (each, await self._machines.backend.memory_capacity(each.sandbox_id, held)) for each in queue
            ]
            if free := next((each for each, room in rooms if self._has_space(room)), None):
                return free
            if not await self._free_memory(set(rooms[0][1].beside) - standing.sandbox_ids):
                return None
        return None

    def _refuse(self, waiting: Waiting, total: int) -> None:
        self._queue.leave(waiting)
        waiting.refuse(
            StartFailure(
                "sandbox_larger_than_total",
                f"One sandbox may fill {self._config.sandbox_memory_bytes} bytes of memory, "
                f"which is more than the {total} that all of them may together.",
                fix="Raise SLIPWAY_SANDBOX_MEMORY_TOTAL_BYTES, or lower SLIPWAY_SANDBOX_MEMORY_BYTES.",
            )
        )

    async def _held(self, capacities: Sequence[int], standing: ReservationState) -> set[UUID]:
        """Returns the ids of the sandboxes that use memory: those that run, are paused, or are about to
        start. `capacities`: the memory of each host in bytes. `standing`: the current memory reservations.

        If there is only one host, its memory may be enough for all sandboxes of this server and one more.
        Then the method returns the ids of all these sandboxes, even of those that do not run. This saves a
        call to the container engine. If there are several hosts, the method always asks the container
        engines, because the containers on each host determine where the next sandbox starts.
        """
        backend = self._machines.backend
        known = await self._rows.of_kind(backend.kind.backend)
        if len(capacities) == 1 and self._fits(len(known), capacities[0]):
            return known
        dead = await backend.find_dead(known)
        # A killed server may have left the reservation of a sandbox that is deleted by now.
        return known & ((known - dead) | await backend.find_frozen() | standing.sandbox_ids)

    def _has_space(self, room: MemoryCapacity) -> bool:
        return room.capacity_bytes is None or self._fits(len(room.beside), room.capacity_bytes)

    def _fits(self, count: int, total: int) -> bool:
        """Returns whether there is memory for one more sandbox. `count`: the number of sandboxes that use
        memory. `total`: the memory for all sandboxes, in bytes.
        """
        sandboxes = (count + 1) * self._config.sandbox_memory_bytes
        spare = self._machines.backend.spare_bytes + self._spare_of_others
        return sandboxes + spare <= total

    async def _free_memory(self, held: set[UUID]) -> bool:
        """Frees memory by ending one container or process. The first choice is a container that was started
        in advance for a later sandbox. The second choice is the container or process of a sleeping (paused)
        sandbox, the third that of an idle sandbox. The files of sandboxes are kept. Returns False if nothing
        can be ended.

        `held`: the ids of the sandboxes from which the second and the third choice are taken.
        """
        if await self._machines.backend.yield_spare():
            return True
        for sandbox_id in await self._rows.asleep(held):
            if await self._sleep.end(sandbox_id):
                return True
        for sandbox_id in await self._sleep.idle_for(IDLE_SECONDS):
            if sandbox_id in held and await self._sleep.put_idle_to_sleep(sandbox_id, IDLE_SECONDS):
                logger.info("an idle sandbox makes room", extra={"sandbox_id": sandbox_id.hex})
                return await self._sleep.end(sandbox_id)
        return False

    async def _tell(self) -> None:
        queue = self._queue.in_order()
        idle = len(await self._sleep.idle_for(0)) if queue else 0
        for position, waiting in enumerate(queue, start=1):
            outlook = _outlook(position, idle, self._queue.seconds_per_admission())
            waiting.tell(
                f"Number {position} of {len(queue)} in the queue: "
                f"all memory for sandboxes is in use. {outlook}"
            )

    async def _replenish(self) -> None:
        capacities = await self._machines.backend.capacities()
        if capacities is None or await self._has_spare_memory(capacities):
            await self._machines.backend.replenish()

    async def _has_spare_memory(self, capacities: Sequence[int]) -> bool:
        self._spare_of_others = await self._machines.backend.spare_bytes_of_others()
        held = await self._held(capacities, await self._reservations.read())
        return self._fits(len(held), sum(capacities))


def _outlook(position: int, idle: int, seconds_per_admission: float | None) -> str:
    if position <= idle:
        return f"An idle sandbox makes room within {IDLE_SECONDS / 60:g} minutes."
    if seconds_per_admission is None:
        return "A sandbox starts when another one ends."
    minutes = max(1, round(position * seconds_per_admission / 60))
    return f"Recently that took about {minutes} minute{'' if minutes == 1 else 's'}."


def _since(sandbox: Sandbox) -> datetime:
    """Returns the time when the sandbox began to wait for its start. For a sandbox with the status STARTING,
    this is the time in its database row, so that a restart of the app server does not change it. For every
    other sandbox, this is the current time.
    """
    return sandbox.updated_at if sandbox.status == SandboxStatus.STARTING else now()
