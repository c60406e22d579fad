"""Measures a server on which many conversations run at the same time: the speed, the CPU time, and how many
conversations are refused or not finished in time.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx

from benchmarks.figures import Figure, quantile
from benchmarks.kit import Kit
from benchmarks.script import Script, Times
from benchmarks.server import Server

SIZES = (1, 5, 20, 50)
STEPS = 20
END_SECONDS = 180.0


@dataclass(frozen=True)
class _Crowd:
    steps_per_second: float
    slowest_seconds: float
    refused: int
    cpu_seconds_per_step: float


def measure(kit: Kit) -> Iterator[Figure]:
    for size in SIZES[:3] if kit.is_quick else SIZES:
        crowds = [_run(kit, size) for _ in kit.runs(peer=1)]
        yield Figure(f"{size} at once", "steps/s", [crowd.steps_per_second for crowd in crowds])
        yield Figure(f"{size} at once, p99 of a step", "ms", [1000 * c.slowest_seconds for c in crowds])
        yield Figure(f"{size} at once, CPU per step", "ms", [1000 * c.cpu_seconds_per_step for c in crowds])
        yield Figure(f"{size} at once, refused", "", [crowd.refused for crowd in crowds])


def _run(kit: Kit, size: int) -> _Crowd:
    with kit.server() as server, ThreadPoolExecutor(size) as pool:
        before = server.cpu_seconds()
        began = time.monotonic()
        results = list(pool.map(lambda _: _converse(kit, server), range(size)))
        used = server.cpu_seconds() - before
    times = [result for result in results if result is not None]
    steps = [b - a for one in times for a, b in zip(one.answered[:STEPS], one.asked[1:], strict=False)]
    end = max(one.asked[STEPS] for one in times)
    return _Crowd(
        steps_per_second=len(steps) / (end - began),
        slowest_seconds=quantile(steps, 0.99),
        refused=size - len(times),
        cpu_seconds_per_step=used / len(steps),
    )


def _converse(kit: Kit, server: Server) -> Times | None:
    """Runs one conversation to its end and returns the times of its model calls. Returns None if the server
    refuses the conversation or does not finish it in time.
    """
    script: Script = kit.model.script(steps=STEPS)
    try:
        server.create(script, text="Go.")
        return script.wait_for_end(within=END_SECONDS)
    except (httpx.HTTPStatusError, httpx.TimeoutException):
        return None
