"""Runs tasks of a conversation in the background. A run (the work of the agent until it stops) does not wait
for these tasks and does not depend on them.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import UUID

logger = logging.getLogger(__name__)

Begin = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]
"""A function that starts a coroutine as a background task and returns the task. The second argument is the
task's name.
"""


class BackgroundTasks:
    """The asyncio tasks of one conversation that work in the background, in addition to its runs (the work of
    the agent). The method `close` cancels these tasks.
    """

    def __init__(self, conversation_id: UUID) -> None:
        self._conversation_id = conversation_id
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_busy(self) -> bool:
        return bool(self._tasks)

    def begin(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Starts a coroutine as a background task and returns the task. Errors in the task are logged and not
        raised.
        """
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
