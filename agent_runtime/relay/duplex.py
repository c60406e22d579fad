"""Runs two coroutines that pass data on between two connections, one in each direction."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def until_either_ends(*directions: Coroutine[Any, Any, None]) -> None:
    """Runs both coroutines. When one ends, cancels the other. Raises the error of a coroutine that failed."""
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
