"""Limits the time that a block of code may take.

The functions do what asyncio.timeout and asyncio.timeout_at do from Python 3.11.3 on. In earlier versions,
these two raise CancelledError instead of TimeoutError if the time is over while the task cleans up after a
cancellation (issue 102780 of CPython). Debian 12 has Python 3.11.2.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager


def time_limit(seconds: float | None) -> AbstractAsyncContextManager[asyncio.Timeout, bool | None]:
    """Returns an async context manager that cancels its block after `seconds` and then raises TimeoutError.
    None: the block has no limit. The context manager gives the Timeout, which can change the limit and says
    whether the time was over.
    """
    return time_limit_at(None if seconds is None else asyncio.get_running_loop().time() + seconds)


@asynccontextmanager
async def time_limit_at(when: float | None) -> AsyncIterator[asyncio.Timeout]:
    """Cancels its block at the time `when` and then raises TimeoutError. `when`: in seconds, by the clock of
    the running event loop (`loop.time()`), or None for no limit. Gives the Timeout, as `time_limit` does.
    """
    task = asyncio.current_task()
    assert task is not None
    earlier_cancellations = task.cancelling()
    try:
        async with asyncio.timeout_at(when) as limit:  # noqa: TID251 (here it is repaired)
            yield limit
    except asyncio.CancelledError as error:
        if limit.expired() and task.cancelling() <= earlier_cancellations:
            raise TimeoutError from error
        raise
