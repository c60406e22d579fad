"""Cancels running blocks of code when a permission or another condition that they depend on ends. Most of
these blocks are open streams.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

CauseT = TypeVar("CauseT", bound=Hashable)


class HeldBlocks(Generic[CauseT]):
    """The collection of running blocks of code that are to be cancelled when a condition ends. The blocks are
    grouped by this condition, such as a permission. The condition is called the cause.
    """

    def __init__(self) -> None:
        self._timeouts: defaultdict[CauseT, set[asyncio.Timeout]] = defaultdict(set)

    @property
    def causes(self) -> Collection[CauseT]:
        """The conditions, such as permissions, that the running blocks of code depend on. When a condition
        ends, its blocks are cancelled.
        """
        return set(self._timeouts)

    def count(self, cause: CauseT) -> int:
        return len(self._timeouts.get(cause, ()))

    @asynccontextmanager
    async def until_ended(self, cause: CauseT, error: type[Exception]) -> AsyncIterator[None]:
        """Runs the code in the `async with` block as long as the condition `cause` holds. If `end` is called
        for this condition before the block has ended, cancels the block and raises `error`.
        """
        try:
            async with asyncio.timeout(None) as timeout:
                self._timeouts[cause].add(timeout)
                try:
                    yield
                finally:
                    self._release(cause, timeout)
        except TimeoutError:
            if timeout.expired():
                raise error from None
            raise

    def end(self, cause: CauseT) -> None:
        """Cancels all running blocks that depend on the condition `cause`. Each of these blocks raises the
        error that was given to `until_ended`.
        """
        for timeout in self._timeouts.pop(cause, ()):
            timeout.reschedule(asyncio.get_running_loop().time())

    def _release(self, cause: CauseT, timeout: asyncio.Timeout) -> None:
        if timeouts := self._timeouts.get(cause):
            timeouts.discard(timeout)
            if not timeouts:
                del self._timeouts[cause]
