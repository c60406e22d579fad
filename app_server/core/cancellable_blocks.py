"""Cancels running blocks of code when a permission or another condition that they depend on ends. Most of
these blocks are open streams.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from agent_runtime.time_limits import time_limit

CauseT = TypeVar("CauseT", bound=Hashable)


class HeldBlocks(Generic[CauseT]):
    """A registry of running blocks of code, such as live streams. It cancels a block when the condition on
    which the block depends ends. For example, a stream is cancelled when the user loses access to the
    conversation.

    Each block is registered with a cause: a value that identifies the condition, such as the ids of the user
    and the conversation. Several blocks can have the same cause.
    """

    def __init__(self) -> None:
        self._timeouts: defaultdict[CauseT, set[asyncio.Timeout]] = defaultdict(set)

    @property
    def causes(self) -> Collection[CauseT]:
        """The causes of all running blocks of code, each once. A cause is a value that identifies the
        condition on which a block depends, for example the ids of a user and a conversation.
        """
        return set(self._timeouts)

    def count(self, cause: CauseT) -> int:
        return len(self._timeouts.get(cause, ()))

    @asynccontextmanager
    async def until_ended(self, cause: CauseT, error: type[Exception]) -> AsyncIterator[None]:
        """Runs the code in the `async with` block. If `end` is called for the same cause before the block has
        ended, cancels the block and raises `error`. `cause`: a value that identifies the condition on which
        the block depends, for example the ids of a user and a conversation.
        """
        try:
            async with time_limit(None) as timeout:
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
        """Cancels all running blocks of code with this cause, because the condition that `cause` identifies
        has ended. For each of these blocks, `until_ended` raises its argument `error`.
        """
        for timeout in self._timeouts.pop(cause, ()):
            timeout.reschedule(asyncio.get_running_loop().time())

    def _release(self, cause: CauseT, timeout: asyncio.Timeout) -> None:
        if timeouts := self._timeouts.get(cause):
            timeouts.discard(timeout)
            if not timeouts:
                del self._timeouts[cause]
