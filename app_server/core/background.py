"""Runs background tasks of the app server. Each task has a name, and all tasks end when the server stops."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Annotated, Any, TypeVar

from app_server.core.server_objects import from_server

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Background:
    """The collection of the background tasks of one process. `close` cancels all tasks and waits until they
    have ended.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        """Runs `work` once as a background task and returns the task. If the task fails, its error is logged
        with a traceback.
        """
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def run_forever(
        self,
        step: Callable[[], Awaitable[None]],
        *,
        name: str,
        interval_seconds: float,
        pauses_first: bool = False,
    ) -> asyncio.Task[None]:
        """Starts a background task that calls `step` again and again, with a pause of `interval_seconds`
        between two calls. Returns the task. If `step` fails, the error is logged, and `step` is called again
        after the pause.

        `pauses_first`: whether there is also a pause before the first call.
        """
        return self.start(_repeat(step, name, interval_seconds, pauses_first), name=name)

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def drain(self) -> None:
        """Waits until all background tasks have ended. Must not be called if `run_forever` was used, because
        its tasks never end.
        """
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.error("background task failed", exc_info=error, extra={"task": task.get_name()})


ServerBackground = Annotated[Background, from_server("background")]


async def finish(work: Coroutine[Any, Any, T]) -> T:
    """Awaits `work` and returns its result. If the caller is cancelled, this function first waits until
    `work` has ended, and only then raises CancelledError. This is for work in threads, because a thread
    cannot be cancelled.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with contextlib.suppress(asyncio.CancelledError):  # raised below
                await asyncio.wait({task})
        raise


async def _repeat(
    step: Callable[[], Awaitable[None]], name: str, interval_seconds: float, pauses_first: bool
) -> None:
    if pauses_first:
        await asyncio.sleep(interval_seconds)
    while True:
        try:
            await step()
        except Exception:
            # The loop must outlive one bad round; the round itself is reported, not swallowed.
            logger.exception("background step failed", extra={"task": name})
        await asyncio.sleep(interval_seconds)
