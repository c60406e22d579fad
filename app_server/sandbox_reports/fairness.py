"""Limits how much processing time of the app server's event loop the event reports of one sandbox may
take.
"""

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
"""A report that is decoded in less time causes no pause. Nearly all reports take less."""


class Fairness:
    """The limiter for event reports: decodes only one report of each sandbox at a time, and makes the sandbox
    pause after a large report.

    Decoding in a thread would not help, because decoding holds the Python interpreter's lock all the time.
    """

    def __init__(self) -> None:
        self._turns: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()
        self._readers: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def reading(self, sandbox_id: UUID) -> AsyncIterator[None]:
        """Waits until no other report of the sandbox is being read or decoded. The `with` block then reads
        one report. So memory holds only one report of each sandbox, and later reports stay unread.
        """
        async with self._readers.setdefault(sandbox_id, asyncio.Lock()):
            yield

    @asynccontextmanager
    async def turn(self, sandbox_id: UUID) -> AsyncIterator[None]:
        """Waits until the app server may decode the next report of the sandbox. The `with` block then decodes
        the report and must not await anything. If decoding takes long, the sandbox's next report must wait.
        """
        async with self._turns.setdefault(sandbox_id, asyncio.Lock()):
            began = time.perf_counter()
            try:
                yield
            finally:
                taken = time.perf_counter() - began
                if taken > FREE_SECONDS:
                    await asyncio.sleep(PAUSE_FACTOR * taken)
