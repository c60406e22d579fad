"""Limits the processing time that the event reports of one sandbox may take in the app server's event
loop.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID
from weakref import WeakValueDictionary

PAUSE_FACTOR = 10
"""After the decoding of a report has blocked the event loop, the next report of the same sandbox must wait
this many times as long. So the reports of one sandbox use at most about a tenth of the event loop's time.
"""
FREE_SECONDS = 0.02
"""A report that is decoded in less than this many seconds causes no pause. Nearly all reports take less
time.
"""


class Fairness:
    """A limiter for the event reports of sandboxes. It lets only one report of each sandbox be decoded at a
    time. After a report that takes long to decode, the next report of the same sandbox must wait.

    Without this limit, a sandbox could block the event loop for a long time. Decoding in another thread would
    not help, because decoding holds the lock of the Python interpreter all the time.
    """

    def __init__(self) -> None:
        self._turns: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()
        self._readers: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def reading(self, sandbox_id: UUID) -> AsyncIterator[None]:
        """Lets the caller read and decode one event report of the sandbox in the `with` block. Other callers
        of this method wait until the block has ended. So the memory contains at most one undecoded report of
        each sandbox.
        """
        async with self._readers.setdefault(sandbox_id, asyncio.Lock()):
            yield

    @asynccontextmanager
    async def turn(self, sandbox_id: UUID) -> AsyncIterator[None]:
        """Waits until the next report of the sandbox may be decoded. The caller then decodes the report in
        the `with` block. The block must not await anything, because its duration is measured.

        If the block took longer than FREE_SECONDS, a pause of PAUSE_FACTOR times its duration follows. The
        caller and the sandbox's next report must wait until this pause has ended.
        """
        async with self._turns.setdefault(sandbox_id, asyncio.Lock()):
            began = time.perf_counter()
            try:
                yield
            finally:
                taken = time.perf_counter() - began
                if taken > FREE_SECONDS:
                    await asyncio.sleep(PAUSE_FACTOR * taken)
