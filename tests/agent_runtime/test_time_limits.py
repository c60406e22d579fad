import asyncio

import pytest

from agent_runtime.time_limits import time_limit, time_limit_at


async def never() -> None:
    await asyncio.Event().wait()


async def cancelled(task: asyncio.Task[object]) -> object:
    """Cancels the task when it waits, and returns its result."""
    await asyncio.sleep(0)
    task.cancel()
    return await task


async def test_a_block_that_takes_too_long_is_cancelled():
    with pytest.raises(TimeoutError):
        async with time_limit(0.01) as limit:
            await never()
    assert limit.expired()


async def test_a_limit_can_be_given_later():
    async def work() -> None:
        async with time_limit(None) as limit:
            limit.reschedule(asyncio.get_running_loop().time())
            await never()

    with pytest.raises(TimeoutError):
        await work()


async def test_a_block_within_its_limit_ends_as_it_would_without():
    async with time_limit_at(asyncio.get_running_loop().time() + 60) as limit:
        await asyncio.sleep(0)
    assert not limit.expired()
    with pytest.raises(ZeroDivisionError):
        async with time_limit(60):
            raise ZeroDivisionError


async def test_a_task_that_cleans_up_after_its_cancellation_is_told_that_the_time_is_over():
    async def work() -> str:
        try:
            await never()
        finally:
            try:
                async with time_limit(0.01):
                    await never()
            except TimeoutError:
                return "cleaned up"

    assert await cancelled(asyncio.create_task(work())) == "cleaned up"


async def test_the_limit_of_an_outer_block_reaches_code_that_cleans_up_after_an_inner_one():
    ends: list[str] = []

    async def clean_up() -> None:
        try:
            async with time_limit(0.01):
                await never()
        except TimeoutError:
            ends.append("inner")

    async def work() -> None:
        async with time_limit(0.01):
            try:
                await never()
            finally:
                await clean_up()

    with pytest.raises(TimeoutError):
        await work()
    assert ends == ["inner"]


async def test_a_cancellation_within_the_limit_remains_one():
    async def work() -> None:
        async with time_limit(60):
            await never()

    with pytest.raises(asyncio.CancelledError):
        await cancelled(asyncio.create_task(work()))


async def test_a_cancellation_at_the_moment_the_time_is_over_remains_one():
    async def work() -> None:
        async with time_limit(0) as limit:
            try:
                await never()
            finally:
                assert limit.expired()
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
                await asyncio.sleep(0)

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(work())
