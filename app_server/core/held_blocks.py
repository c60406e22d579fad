"""Blocks of code that are cancelled when a permission or another condition ends. Most of these blocks are
open streams.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

CauseT = TypeVar("CauseT", bound=Hashable)


class HeldBlocks(Generic[CauseT]):
    """The running blocks, grouped by the condition that they depend on (the cause), such as a permission."""

    def __init__(self) -> None:
        self._timeouts: defaultdict[CauseT, set[asyncio.Timeout]] = defaultdict(set)

    @property
    def causes(self) -> Collection[CauseT]:
        """Returns the conditions, such as permissions, that the running blocks depend on."""
        return set(self._timeouts)

    def count(self, cause: CauseT) -> int:
        return len(self._timeouts.get(cause, ()))

    @asynccontextmanager
    async def until_ended(self, cause: CauseT, error: type[Exception]) -> AsyncIterator[None]:
        """Runs the `async with` block. When `end` is called for the same cause, cancels the block and raises
        `error`.
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
        """Cancels all blocks that depend on this cause."""
        for timeout in self._timeouts.pop(cause, ()):
            timeout.reschedule(asyncio.get_running_loop().time())

    def _release(self, cause: CauseT, timeout: asyncio.Timeout) -> None:
        if timeouts := self._timeouts.get(cause):
            timeouts.discard(timeout)
            if not timeouts:
                del self._timeouts[cause]
