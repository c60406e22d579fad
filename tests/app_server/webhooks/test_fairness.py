"""One sandbox cannot keep the event loop to itself."""

import asyncio
import time
from uuid import UUID, uuid4

from app_server.sandbox_reports.fairness import FREE_SECONDS, PAUSE_FACTOR, Fairness


async def test_who_holds_up_the_loop_rests_before_its_next_turn_and_nobody_else_does():
    fairness, greedy, modest = Fairness(), uuid4(), uuid4()
    done: list[tuple[str, float]] = []
    long = 2 * FREE_SECONDS

    async def work(name: str, sandbox_id: UUID, seconds: float) -> None:
        async with fairness.turn(sandbox_id):
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                pass  # as a decoder that keeps the interpreter's lock
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
