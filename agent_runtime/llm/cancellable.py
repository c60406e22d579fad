"""Cancels coroutines reliably, also those that ignore a first cancellation."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

REPEAT_SECONDS = 0.5


async def cancellable(work: Coroutine[Any, Any, Result]) -> Result:
    """Runs the coroutine and returns its result. If the caller is cancelled, the coroutine ends, even if this
    happens while it opens a connection.

    anyio's `connect_tcp` mistakes a cancellation at that moment for its internal one, and the request would
    continue. So the awaitable runs in a separate task, which is cancelled again.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait([task])
    finally:
        while not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=REPEAT_SECONDS)
    return task.result()
