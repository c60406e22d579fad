"""Tests of fairness between sandboxes: the reports of one sandbox cannot occupy the event loop."""

import asyncio
import time
from uuid import UUID, uuid4

from app_server.sandbox_reports.fairness import FREE_SECONDS, PAUSE_FACTOR, Fairness


async def test_only_the_client_that_blocks_the_loop_has_to_wait():
    fairness, greedy, modest = Fairness(), uuid4(), uuid4()
    done: list[tuple[str, float]] = []
    long = 2 * FREE_SECONDS

    async def work(name: str, sandbox_id: UUID, seconds: float) -> None:
        async with fairness.turn(sandbox_id):
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                pass  # blocks the event loop, as a decoder does that holds the interpreter's lock
            done.append((name, time.perf_counter()))

    await asyncio.gather(
        work("first", greedy, long),
        work("second", greedy, long),
        work("third", greedy, 0),
        work("other", modest, 0),
    )

    assert [name for name, _ in done] == ["first", "other", "second", "third"]
    moments = dict(done)
    assert moments["second"] - moments["first"] >= PAUSE_FACTOR * long
