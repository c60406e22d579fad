"""Which lane a test belongs to, and how long it may take there (tests/lanes.toml)."""

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
    """files: patterns of paths from the root. markers, fixtures: their names in pytest."""

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
    """In the order of the file. Raises OSError, tomllib.TOMLDecodeError, TypeError."""
    return tuple(_lane(name, fields) for name, fields in tomllib.loads(LANES_FILE.read_text()).items())


def lane_of(file: str, markers: Collection[str] = (), fixtures: Collection[str] = ()) -> Lane:
    """file: its path from the root, with slashes."""
    lanes = read_lanes()
    return next((lane for lane in lanes if lane.holds(file, markers, fixtures)), lanes[-1])


def _lane(name: str, fields: dict[str, Any]) -> Lane:
    names = {each: frozenset(fields[each]) for each in ("markers", "fixtures")}
    return Lane(name, **{**fields, **names, "files": tuple(fields["files"])})
