"""Background work of a conversation. No run waits for it or depends on it."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import UUID

logger = logging.getLogger(__name__)

Begin = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]
"""Starts background work. The text is the name of the task."""


class BackgroundTasks:
    """Owns the background tasks. `close` ends them."""

    def __init__(self, conversation_id: UUID) -> None:
        self._conversation_id = conversation_id
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_busy(self) -> bool:
        return bool(self._tasks)

    def begin(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Starts a task and returns it. The task never fails: its errors are logged."""
        task = asyncio.create_task(self._logged(work), name=f"{name} {self._conversation_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _logged(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:
            logger.exception("background work failed", extra={"conversation_id": str(self._conversation_id)})
