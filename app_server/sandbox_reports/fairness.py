"""Limits how much of the event loop's time the reports of one sandbox may take."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID
from weakref import WeakValueDictionary

PAUSE_FACTOR = 10
"""After a report has blocked the event loop, the sandbox pauses this many times as long, so it gets at most a
tenth of the time.
"""
FREE_SECONDS = 0.02
"""Quicker reports need no pause. Nearly all reports are quicker."""


class Fairness:
    """Lets only one report of each sandbox be decoded at a time, with a pause after a large report.

    Decoding cannot run in a thread, because it holds the interpreter's lock the whole time.
    """

    def __init__(self) -> None:
        self._turns: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()
        self._readers: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def reading(self, sandbox_id: UUID) -> AsyncIterator[None]:
        """Waits for the sandbox's turn to read a report. Only one report of each sandbox is held in memory at
        a time; later reports stay unread.
        """
        async with self._readers.setdefault(sandbox_id, asyncio.Lock()):
            yield

    @asynccontextmanager
    async def turn(self, sandbox_id: UUID) -> AsyncIterator[None]:
        """Waits for the sandbox's turn to decode a report. The block must not await anything."""
        async with self._turns.setdefault(sandbox_id, asyncio.Lock()):
            began = time.perf_counter()
            try:
                yield
            finally:
                taken = time.perf_counter() - began
                if taken > FREE_SECONDS:
                    await asyncio.sleep(PAUSE_FACTOR * taken)
