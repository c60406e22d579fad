"""Measures what floods do to memory and to the requests of another user, with `benchmarks.floods`."""

from benchmarks.attackers import FLOODS
from benchmarks.floods import Row, measure

SECONDS = 1.5
MAX_GROWTH_MIB = 100.0
MAX_P50_MS = 1_000.0
MAX_P99_MS = 5_000.0
TIMES_UNLOADED = 20
MEASUREMENTS = 3
"""The number of measurements. A test fails only if a flood exceeds a limit in each of them, because other
tests can make the machine slow or stop it for one measurement. The limit for memory is the goal in
docs/performance.md. The limits for time only find a server that is always slow or stops answering:
benchmarks/floods.py measures the goals for time.
"""


async def test_floods_take_neither_the_memory_nor_the_time_of_others() -> None:
    excessive = await excessive_floods(list(FLOODS))
    for _ in range(MEASUREMENTS - 1):
        if excessive:
            excessive = await excessive_floods([row.flood for row in excessive])
    assert excessive == []


async def excessive_floods(floods: list[str]) -> list[Row]:
    """Measures these floods and returns those that use too much memory or slow the other user's requests too
    much.
    """
    unloaded, *flooded = await measure(SECONDS, floods)
    assert [row.flood for row in flooded] == floods
    p50 = max(MAX_P50_MS, TIMES_UNLOADED * unloaded.p50)
    p99 = max(MAX_P99_MS, TIMES_UNLOADED * unloaded.p99)
    return [row for row in flooded if row.growth > MAX_GROWTH_MIB or row.p50 > p50 or row.p99 > p99]
