"""Limits the parallel work for each asker, such as a sandbox, so that one asker does not delay all others."""

import asyncio
from collections.abc import Hashable
from weakref import WeakValueDictionary


class Turns:
    """Counts the running work of each asker, such as a sandbox. `at_once`: the limit for one asker."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._askers: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()

    def of(self, asker: Hashable) -> asyncio.Semaphore:
        """Returns the semaphore of this asker. It is deleted when no work uses it or waits for it."""
        return self._askers.setdefault(asker, asyncio.Semaphore(self._at_once))
