"""Computes what a test run took: the time of each lane, the slowest tests, and the lanes over their
budget.
"""

import hashlib
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.support.running.durations import Durations, file_of
from tests.support.running.lanes import Lane, read_lanes

TOLERANCE = 1.2
NAMED = 20
_REFERENCE_SECONDS = 0.5
"""The seconds that `pace` measures on the machine for which the budgets were set."""


@dataclass(frozen=True)
class Took:
    """The measured times of a test run. seconds: the duration of each test with set-up and teardown, by test
    id. lanes: the name of each test's lane, by test id. workers: the number of processes that ran tests.
    """

    seconds: Mapping[str, float]
    lanes: Mapping[str, str]
    workers: int

    def minutes_of(self, lane: str) -> float:
        """Returns the time of a lane in minutes: the sum of its tests' durations, divided by the number of
        workers. This is the time that the lane takes if all workers are busy all the time.
        """
        return (
            sum(took for test, took in self.seconds.items() if self.lanes[test] == lane) / self.workers / 60
        )


def pace() -> float:
    """Measures the speed of this machine. Returns how many times slower it is now than the machine for which
    the budgets were set. Returns 1 if it is not slower.
    """
    began = time.perf_counter()
    for _ in range(60):
        hashlib.sha256(bytes(10_000_000)).hexdigest()
    return max(1.0, (time.perf_counter() - began) / _REFERENCE_SECONDS)


def summary(took: Took) -> Iterator[str]:
    """Yields the lines of the report: the minutes of each lane and the slowest tests."""
    for lane in read_lanes():
        if minutes := took.minutes_of(lane.name):
            yield f"{lane.name}: {minutes:.1f} minutes of {lane.budget_minutes:g}"
    yield f"the {NAMED} slowest tests:"
    for test, seconds in sorted(took.seconds.items(), key=lambda item: -item[1])[:NAMED]:
        yield f"{seconds:8.1f} s  {test}"


def exceeded(took: Took, slowness: float) -> list[Lane]:
    """Returns the lanes that took more than 120 % of their budget on a machine of this slowness
    (see `pace`).
    """
    return [
        lane
        for lane in read_lanes()
        if took.minutes_of(lane.name) > lane.budget_minutes * slowness * TOLERANCE
    ]


def grown(lane: Lane, took: Took, earlier: Durations) -> list[str]:
    """Returns lines about the files of the lane that grew most since `earlier`, with the old and
    new seconds.
    """
    now: dict[str, float] = defaultdict(float)
    for test, seconds in took.seconds.items():
        if took.lanes[test] == lane.name:
            now[file_of(test)] += seconds
    growth = {file: seconds - earlier.files.get(file, 0.0) for file, seconds in now.items()}
    most = sorted(growth, key=lambda file: -growth[file])[:NAMED]
    return [
        f"{now[file]:8.1f} s, before {earlier.files.get(file, 0.0):.1f} s  {file}"
        for file in most
        if growth[file] > 0
    ]
