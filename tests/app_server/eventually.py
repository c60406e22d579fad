"""A helper for tests that wait for work in the background."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.support.patience import PATIENCE_SECONDS, pauses_between_looks


async def eventually(is_true: Callable[[], Awaitable[bool]]) -> None:
    """Waits until `is_true` returns True. Raises TimeoutError if that takes longer than PATIENCE_SECONDS."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        pauses = pauses_between_looks()
        while not await is_true():  # noqa: ASYNC110 (the database sends no events)
            await asyncio.sleep(next(pauses))
