"""Runs two coroutines that copy data between two connections, one coroutine in each direction."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def until_either_ends(*directions: Coroutine[Any, Any, None]) -> None:
    """Runs the coroutines at the same time. When the first coroutine ends, cancels the remaining coroutines.
    If a coroutine failed, raises its error.
    """
    tasks = [asyncio.create_task(direction) for direction in directions]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for outcome in ended:
        if isinstance(outcome, Exception):
            raise outcome
