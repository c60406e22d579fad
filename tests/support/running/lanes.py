"""Lanes: groups of tests with a time budget and a time limit for each test (tests/lanes.toml)."""

import os
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

LANES_FILE = Path(os.environ.get("SLIPWAY_TEST_LANES") or Path(__file__).parents[2] / "lanes.toml")


@dataclass(frozen=True)
class Lane:
    """A lane. A test belongs to it by its file, a marker or a fixture.

    files: patterns of paths from the root. markers, fixtures: their names in pytest.
    """

    name: str
    budget_minutes: float
    limit_seconds: int
    files: tuple[str, ...]
    markers: frozenset[str]
    fixtures: frozenset[str]

    def holds(self, file: str, markers: Collection[str], fixtures: Collection[str]) -> bool:
        named = not self.markers.isdisjoint(markers) or not self.fixtures.isdisjoint(fixtures)
        return named or any(fnmatch(file, each) for each in self.files)


@cache
def read_lanes() -> tuple[Lane, ...]:
    """Reads the lanes in the order of the file.

    Raises OSError if the file is not readable, and tomllib.TOMLDecodeError or TypeError if it is invalid.
    """
    return tuple(_lane(name, fields) for name, fields in tomllib.loads(LANES_FILE.read_text()).items())


def lane_of(file: str, markers: Collection[str] = (), fixtures: Collection[str] = ()) -> Lane:
    """Returns the first lane to which the test belongs, or the last lane if there is none.

    file: the path of the test file from the root, with slashes.
    """
    lanes = read_lanes()
    return next((lane for lane in lanes if lane.holds(file, markers, fixtures)), lanes[-1])


def _lane(name: str, fields: dict[str, Any]) -> Lane:
    names = {each: frozenset(fields[each]) for each in ("markers", "fixtures")}
    return Lane(name, **{**fields, **names, "files": tuple(fields["files"])})
