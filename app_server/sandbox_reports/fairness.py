"""How much of the event loop one sandbox may take."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID
from weakref import WeakValueDictionary

PAUSE_FACTOR = 10
"""A sandbox that has held up the event loop pauses this many times as long, so it gets at most a tenth."""
FREE_SECONDS = 0.02
"""What is quicker needs no rest: that is nearly all that agents report."""


class Fairness:
    """One report of each sandbox is decoded at a time, and large ones are paid for with a pause.

    Decoding cannot be handed to a thread, since it keeps the interpreter's lock for as long as it takes.
    """

    def __init__(self) -> None:
        self._turns: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()
        self._readers: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def reading(self, sandbox_id: UUID) -> AsyncIterator[None]:
        """One report of each sandbox is held in memory at a time; the others stay unread."""
        async with self._readers.setdefault(sandbox_id, asyncio.Lock()):
            yield

    @asynccontextmanager
    async def turn(self, sandbox_id: UUID) -> AsyncIterator[None]:
        """For work that does not await anything."""
        async with self._turns.setdefault(sandbox_id, asyncio.Lock()):
            began = time.perf_counter()
            try:
                yield
            finally:
                taken = time.perf_counter() - began
                if taken > FREE_SECONDS:
                    await asyncio.sleep(PAUSE_FACTOR * taken)
