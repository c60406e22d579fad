"""Limits how many requests of one client, such as a sandbox, are processed at the same time. So one client
with many requests does not delay the other clients.
"""

import asyncio
from collections.abc import Hashable
from weakref import WeakValueDictionary


class Turns:
    """Limits how many requests of each client are processed at the same time. A request is processed in
    `async with turns.of(client)`, and waits there while too many other requests of the client are processed.
    `at_once`: the largest number of requests of one client that are processed at the same time.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._clients: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()

    def of(self, client: Hashable) -> asyncio.Semaphore:
        """Returns the semaphore that the requests of this client must hold while they are processed.
        `client`: a value that identifies the client, such as a sandbox id. The semaphore is created when it
        is first needed. It is deleted when no request uses it or waits for it.
        """
        return self._clients.setdefault(client, asyncio.Semaphore(self._at_once))
