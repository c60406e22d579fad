"""Closes conversations that were not used for some time, to free memory. A closed conversation is loaded from
disk again at its next use.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

logger = logging.getLogger(__name__)


class IdleWatch:
    """An object that stores when each conversation was last used, and calls the function `put_away` for each
    conversation that was not used for `ttl_seconds`.

    `put_away` returns whether it has closed the conversation. If it returns False, for example because the
    agent is working, `put_away` is called again after another `ttl_seconds`. If `ttl_seconds` is None,
    `put_away` is never called.
    """

    def __init__(self, ttl_seconds: float | None, put_away: Callable[[UUID], Awaitable[bool]]) -> None:
        self._ttl_seconds = ttl_seconds
        self._put_away = put_away
        self._users: Counter[UUID] = Counter()
        self._last_used: dict[UUID, float] = {}
        self._wakeup = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._ttl_seconds is not None:
            self._task = asyncio.create_task(self._watch(self._ttl_seconds), name="idle conversations")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    @contextmanager
    def in_use(self, conversation_id: UUID) -> Iterator[None]:
        self._users[conversation_id] += 1
        try:
            yield
        finally:
            self._users[conversation_id] -= 1
            if self._users[conversation_id] == 0:
                del self._users[conversation_id]
            if conversation_id in self._last_used:
                self.touch(conversation_id)

    def is_used(self, conversation_id: UUID) -> bool:
        return self._users[conversation_id] > 0

    def touch(self, conversation_id: UUID) -> None:
        """Records that the conversation is used now. Its idle time starts again at zero."""
        self._last_used[conversation_id] = time.monotonic()
        self._wakeup.set()

    def forget(self, conversation_id: UUID) -> None:
        self._last_used.pop(conversation_id, None)

    async def _watch(self, ttl_seconds: float) -> None:
        while True:
            if not self._last_used:
                self._wakeup.clear()
                await self._wakeup.wait()
                continue
            oldest = min(self._last_used, key=self._last_used.__getitem__)
            remaining_seconds = self._last_used[oldest] + ttl_seconds - time.monotonic()
            if remaining_seconds > 0:
                await asyncio.sleep(remaining_seconds)
            else:
                await self._let_go(oldest)

    async def _let_go(self, conversation_id: UUID) -> None:
        is_away = False
        try:
            is_away = not self.is_used(conversation_id) and await self._put_away(conversation_id)
        except Exception:
            # A conversation that cannot be closed stays in memory. The others must still be closed.
            logger.exception(
                "a conversation cannot be put away", extra={"conversation_id": str(conversation_id)}
            )
        if not is_away and conversation_id in self._last_used:
            self.touch(conversation_id)
