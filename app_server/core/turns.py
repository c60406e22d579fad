"""Limits how many requests of one client, such as a sandbox, are served at once. So no client delays all
other clients.
"""

import asyncio
from collections.abc import Hashable
from weakref import WeakValueDictionary


class Turns:
    """The semaphores of all clients, such as sandboxes. `at_once`: how many requests of one client may be
    served at the same time.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._clients: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()

    def of(self, client: Hashable) -> asyncio.Semaphore:
        """Returns the semaphore of this client. The semaphore is deleted when no request uses it or waits for
        it.
        """
        return self._clients.setdefault(client, asyncio.Semaphore(self._at_once))
