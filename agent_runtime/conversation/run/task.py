"""The asyncio task that executes a conversation's run (the work of the agent until it stops). A conversation
has at most one such task at a time.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import UUID

from agent_runtime.conversation.errors import AlreadyRunningError

logger = logging.getLogger(__name__)

INTERRUPT_GRACE_SECONDS = 10


class RunTask:
    """An object that holds the asyncio task of a conversation's run (the work of the agent until it stops).
    There is no task while no run is going on.
    """

    def __init__(self, conversation_id: UUID) -> None:
        self._conversation_id = conversation_id
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(
        self,
        work: Callable[[], Coroutine[Any, Any, None]],
        *,
        on_end: Callable[[], None],
        on_lost: Callable[[BaseException], None],
    ) -> None:
        """Starts a run (work of the agent) in an asyncio task. Raises AlreadyRunningError if a run is going
        on.

        `work`: a function that creates the coroutine of the run. `on_lost`: a function that is called after
        the run if the run could not log its end; its argument is the error. `on_end`: a function that is
        called after each run, and after `on_lost`, unless a new run has already begun. If `cancel` has ended
        the run, neither function is called.
        """
        if self.is_running:
            raise AlreadyRunningError
        self._task = asyncio.create_task(work(), name=f"run {self._conversation_id}")
        self._task.add_done_callback(lambda task: self._ended(task, on_end, on_lost))

    async def wait(self) -> None:
        """Waits until no run (work of the agent) is going on."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def cancel(self) -> None:
        """Cancels the run (work of the agent) and logs nothing. Waits for the end of the run, but only for a
        limited time.
        """
        task = self._task
        if task is None or task.done():
            return
        if not task.cancelling():  # a second time would cut off the cleaning up
            task.cancel()
        _, late = await asyncio.wait([task], timeout=INTERRUPT_GRACE_SECONDS)
        if late:
            logger.warning("a run does not stop", extra={"conversation_id": str(self._conversation_id)})

    async def interrupt(self) -> bool:
        """Stops the run (work of the agent). Returns True if the caller must log the interruption.

        Returns False if there was no run, if the run had just ended, or if another caller had stopped the
        run. So only one of several callers logs the interruption.
        """
        task = self._task
        if task is None or task.done():
            return False
        await self.cancel()
        if self._task is not task:
            return False
        self._task = task if not task.done() else None
        return True

    def _ended(
        self, task: asyncio.Task[None], on_end: Callable[[], None], on_lost: Callable[[BaseException], None]
    ) -> None:
        if task.cancelled():
            if task.cancelling():  # by `cancel`; otherwise something inside the run was cancelled
                return
            error: BaseException | None = asyncio.CancelledError()
        else:
            error = task.exception()
        if error is not None:
            # Even the failure could not be logged, for example because the disk is full.
            logger.error(
                "a run ended without a record",
                exc_info=error,
                extra={"conversation_id": str(self._conversation_id)},
            )
            on_lost(error)
        if self._task is task:
            self._task = None
            on_end()
