"""Limits how many runs go on at once. Further runs wait in a queue."""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class RunSlot:
    """A run's place in the queue, and later its slot."""

    def __init__(self) -> None:
        self._is_mine: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    @property
    def is_waiting(self) -> bool:
        return not self._is_mine.done()

    async def wait(self) -> bool:
        """Waits for the slot. Returns True if the run may start, False if it has left the queue."""
        return await self._is_mine

    def give_up(self) -> None:
        if self.is_waiting:
            self._is_mine.set_result(False)

    def begin(self) -> None:
        self._is_mine.set_result(True)

    def queue_again(self) -> None:
        """Prepares the slot for another wait, after the run has freed it for others."""
        self._is_mine = asyncio.get_running_loop().create_future()


class RunSlots:
    """The slots that conversations share. `limit`: None means that no run has to wait."""

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
        """Queues for a slot. Leaving the `with` block frees the slot for the next run."""
        mine = RunSlot()
        self._waiting.append(mine)
        self._admit()
        try:
            yield mine
        finally:
            mine.give_up()
            self.step_aside(mine)

    def step_aside(self, slot: RunSlot) -> None:
        """Frees the slot, so that the next run can start."""
        self._at_work.discard(slot)
        self._admit()

    async def come_back(self, slot: RunSlot) -> bool:
        """Queues again behind the waiting runs. Returns the result of `RunSlot.wait`."""
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
