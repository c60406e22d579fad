"""A call that catches and ignores a cancellation is cancelled again until it ends."""

import asyncio

import pytest

from agent_runtime.llm.cancellable import cancellable
from tests.support.patience import PATIENCE_SECONDS


async def test_work_that_takes_a_cancellation_for_its_own_is_told_again():
    has_begun = asyncio.Event()

    async def deaf() -> None:
        # Ignores the first cancellation, like a connection that is cancelled while it is being opened.
        has_begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.Event().wait()

    call = asyncio.create_task(cancellable(deaf()))
    await has_begun.wait()
    call.cancel()
    done, _ = await asyncio.wait([call], timeout=PATIENCE_SECONDS)

    assert done == {call}
    assert call.cancelled()


async def test_results_and_failures_come_through():
    async def fail() -> None:
        raise LookupError("no")

    async def answer() -> int:
        return 42

    assert await cancellable(answer()) == 42
    with pytest.raises(LookupError):
        await cancellable(fail())
