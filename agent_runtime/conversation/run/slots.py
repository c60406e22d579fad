"""Limits how many conversations of a server run at the same time. A run is the work of one agent until it
stops. If the maximum number of runs is reached, new runs wait in a queue for a free run slot (the permission
to run).
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class RunSlot:
    """The permission of one run (the work of an agent until it stops) to work. Either the permission is
    granted, or the run waits for it in the queue.
    """

    def __init__(self) -> None:
        self._is_mine: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    @property
    def is_waiting(self) -> bool:
        return not self._is_mine.done()

    async def wait(self) -> bool:
        """Waits until the run (the work of one agent) gets the permission to work. Returns True if the run
        may work. Returns False if the run was removed from the queue by `give_up`, and so must not work.
        """
        return await self._is_mine

    def give_up(self) -> None:
        if self.is_waiting:
            self._is_mine.set_result(False)

    def begin(self) -> None:
        self._is_mine.set_result(True)

    def queue_again(self) -> None:
        """Takes the permission to work away from this run (the work of one agent). The run must then wait for
        the permission again.
        """
        self._is_mine = asyncio.get_running_loop().create_future()


class RunSlots:
    """The limit of how many conversations of a server run at the same time, with the queue of the runs (the
    work of agents) that wait. All conversations of the server share this object. `limit`: the number of runs
    that may work at the same time; None means no limit.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._at_work: set[RunSlot] = set()
        self._waiting: deque[RunSlot] = deque()

    @property
    def active(self) -> int:
        return len(self._at_work)

    @property
    def waiting(self) -> int:
        return sum(slot.is_waiting for slot in self._waiting)

    @contextmanager
    def queued(self) -> Iterator[RunSlot]:
        """Adds a run (the work of one agent) to the queue and yields the run's slot, on which the caller can
        wait for the permission to work. At the end of the `with` block, the run loses its permission, and the
        next run in the queue can get it.
        """
        mine = RunSlot()
        self._waiting.append(mine)
        self._admit()
        try:
            yield mine
        finally:
            mine.give_up()
            self.step_aside(mine)

    def step_aside(self, slot: RunSlot) -> None:
        """Takes the permission to work away from the run (the work of one agent) that has this slot, so that
        the next run in the queue can start. The run is not ended; it can enter the queue again with
        `come_back`.
        """
        self._at_work.discard(slot)
        self._admit()

    async def come_back(self, slot: RunSlot) -> bool:
        """Adds a run (the work of one agent) to the end of the queue, and waits until the run gets the
        permission to work. Call this after `step_aside`, which has taken the permission away. Returns
        True if the run may continue, False if it was removed from the queue.
        """
        slot.queue_again()
        self._waiting.append(slot)
        self._admit()
        return await slot.wait()

    def _admit(self) -> None:
        while self._waiting and (self._limit is None or len(self._at_work) < self._limit):
            following = self._waiting.popleft()
            if following.is_waiting:
                self._at_work.add(following)
                following.begin()
