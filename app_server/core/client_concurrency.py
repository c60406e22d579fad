"""Limits how many requests of one client, such as a sandbox, are processed at the same time. So one client
with many requests does not delay the other clients.
"""

import asyncio
from collections.abc import Hashable
from weakref import WeakValueDictionary


class Turns:
    """The limits for all clients. Each client has a semaphore, which a request holds while it is processed.
    `at_once`: how many requests of one client may be processed at the same time.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._clients: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()

    def of(self, client: Hashable) -> asyncio.Semaphore:
        """Returns the semaphore of this client. It is created at the first call, and deleted when no request
        uses it or waits for it.
        """
        return self._clients.setdefault(client, asyncio.Semaphore(self._at_once))
