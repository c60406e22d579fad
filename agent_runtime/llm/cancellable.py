"""Cancels coroutines reliably, also those that ignore a first cancellation."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

REPEAT_SECONDS = 0.5


async def cancellable(work: Coroutine[Any, Any, Result]) -> Result:
    """Runs the coroutine and returns its result. If the caller is cancelled, the coroutine is cancelled
    repeatedly until it ends.

    One cancellation is not always enough: the function `connect_tcp` of the library anyio sometimes ignores
    the first one and continues to open the connection. The coroutine runs in a separate asyncio task, so that
    it can be cancelled more than once.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait([task])
    finally:
        while not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=REPEAT_SECONDS)
    return task.result()
