"""Makes the work of one asker wait for its turn, so that many requests of one leave others their time."""

import asyncio
from collections.abc import Hashable
from weakref import WeakValueDictionary


class Turns:
    """Counts the work under way of each asker, such as a sandbox. `at_once`: the limit for one asker."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._askers: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()

    def of(self, asker: Hashable) -> asyncio.Semaphore:
        """Returns the semaphore of this asker. It is forgotten when no work uses it or waits for it."""
        return self._askers.setdefault(asker, asyncio.Semaphore(self._at_once))
