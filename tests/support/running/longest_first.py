"""The order of the tests: the longest first, so that no worker ends much later than the others.

Tests of one file run on one worker, because they share fixtures. A long file without shared fixtures is
split, unless its tests use a Docker engine or are marked `one_worker`.
"""

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cache

import pytest
from xdist.remote import Producer
from xdist.scheduler.loadscope import LoadScopeScheduling

from tests.support.running.durations import ROOT, Durations, file_of, read_durations

SPLIT_SECONDS = 20.0
# Tests of one file that use an engine may compare its containers before and after.
_TOGETHER = re.compile(
    r"""scope=["'](module|class|package|session)["']|pytest\.mark\.(docker|one_worker|own_engine)"""
)


class LongestFirst(LoadScopeScheduling):
    """The scheduler of pytest-xdist. It hands out the tests in the order in which they were collected."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False
        self._durations = read_durations()

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid, self._durations)


def unit_of(test: str, durations: Durations) -> str:
    """Returns the id of the unit to which the test belongs. One worker runs all tests of a unit. A unit is a
    file, or one test of a long file.
    """
    file = file_of(test)
    return test if durations.of_file(file) > SPLIT_SECONDS and not _stays_together(file) else file


def order(items: list[pytest.Item], durations: Durations) -> None:
    """Sorts the tests in place: the longest units (files, or single tests of long files) first.

    The result is the same on all workers.
    """
    seconds: dict[str, float] = defaultdict(float)
    units = {item.nodeid: unit_of(item.nodeid, durations) for item in items}
    for item in items:
        unit = units[item.nodeid]
        seconds[unit] = durations.of_test(unit) if "::" in unit else durations.of_file(unit)
    items.sort(key=lambda item: (-seconds[units[item.nodeid]], units[item.nodeid]))


def shuffle(items: list[pytest.Item], seed: int, durations: Durations) -> None:
    """Shuffles the units (files, or single tests of long files) in place, and the tests in each unit.

    Equal seeds give equal orders.
    """
    units: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        units[unit_of(item.nodeid, durations)].append(item)
    chance = random.Random(seed)  # noqa: S311 (an order, not a secret)
    shuffled: Sequence[str] = chance.sample(sorted(units), len(units))
    for unit in shuffled:
        chance.shuffle(units[unit])
    items[:] = [item for unit in shuffled for item in units[unit]]


@cache
def _stays_together(file: str) -> bool:
    path = ROOT / file
    return path.exists() and bool(_TOGETHER.search(path.read_text()))
