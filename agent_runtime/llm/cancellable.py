"""Waiting for what may swallow a cancellation."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

REPEAT_SECONDS = 0.5


async def cancellable(work: Coroutine[Any, Any, Result]) -> Result:
    """Its result. Cancelling this ends it, even in the moment in which its connection is made.

    anyio's `connect_tcp` takes a cancellation that comes in just then for its own, and the request would go
    on as if it had not been cancelled. So it runs in a separate task, which is cancelled again.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait([task])
    finally:
        while not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=REPEAT_SECONDS)
    return task.result()
