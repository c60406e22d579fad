"""The measured values, and the goals for Slipway's agent server."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Figure:
    """The results of one measurement of one product. `runs`: the value of each run."""

    name: str
    unit: str
    runs: Sequence[float]

    @property
    def median(self) -> float:
        return statistics.median(self.runs)


@dataclass(frozen=True)
class Goal:
    limit: float
    sense: Literal["at most", "at least"] = "at most"

    def is_met(self, value: float) -> bool:
        return value <= self.limit if self.sense == "at most" else value >= self.limit


GOALS = {
    "start, CPU": Goal(0.8),
    "start, resident": Goal(70),
    "memory per added conversation": Goal(2),
    "CPU per step": Goal(10),
    "CPU per step, last 50 / first 50": Goal(1.1),
    "terminal `true`": Goal(5),
    "answer to event, median": Goal(5),
    "10 MB of output": Goal(400),
    "10 MB of output, kept": Goal(1, "at least"),
    "first page of a cold log, 10000 events": Goal(20),
    "resume to first request, 10000 events": Goal(200),
    "50 at once": Goal(80, "at least"),
    "50 at once, refused": Goal(0),
}


def quantile(values: Sequence[float], share: float) -> float:
    """Returns the quantile of the values: for example, for the share 0.95, a value that about 95 % of the
    values do not exceed.
    """
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
