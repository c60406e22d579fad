"""Records how long each test took. The record decides the order of the next run, and the times of that run
are compared with the record.

The record is JSON: {file: {"seconds": total, "tests": {name: seconds}}}. `tests` holds only tests that take a
second or more. It is read from the folder SLIPWAY_CI_CACHE, else from tests/durations.json. Each run writes a
new record.
"""

import json
import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[3]
COMMITTED = ROOT / "tests" / "durations.json"
NAME = "durations.json"
NOTED_SECONDS = 1.0
UNKNOWN_FILE_SECONDS = 10.0
"""The assumed seconds of a file that is not in the record, so that it runs after the long files."""


@dataclass
class Durations:
    """The record of how long tests took. files: the seconds of all tests of a file together, by file. tests:
    the seconds of each long test, by test id.
    """

    files: dict[str, float] = field(default_factory=dict)
    tests: dict[str, float] = field(default_factory=dict)

    def of_test(self, test: str) -> float:
        return self.tests.get(test, 0.0)

    def of_file(self, file: str) -> float:
        return self.files.get(file, UNKNOWN_FILE_SECONDS)


def file_of(test: str) -> str:
    return test.partition("::")[0]


def read_durations() -> Durations:
    """Reads the record. Returns an empty one if there is none. Raises ValueError if the record is invalid."""
    for file in filter(None, (_cached(), COMMITTED)):
        if file.exists():
            return _parse(json.loads(file.read_text()))
    return Durations()


def write_durations(seconds: Mapping[str, float], earlier: Durations, into: Path) -> None:
    """Writes a new record to the folder `into`, and to SLIPWAY_CI_CACHE if that is set.

    seconds: by test id. Files of which no test ran keep their values from `earlier`.
    """
    by_file: dict[str, dict[str, float]] = defaultdict(dict)
    for test, took in seconds.items():
        by_file[file_of(test)][test] = took
    record = {file: _entry(tests) for file, tests in by_file.items()}
    for file in earlier.files.keys() - record.keys():
        if (ROOT / file).exists():
            kept = {test: took for test, took in earlier.tests.items() if file_of(test) == file}
            record[file] = {"seconds": earlier.files[file], "tests": _named(kept)}
    text = json.dumps(record, indent=1, sort_keys=True)
    for place in filter(None, (into / NAME, _cached())):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text + "\n")


def _cached() -> Path | None:
    cache = os.environ.get("SLIPWAY_CI_CACHE")
    return Path(cache) / NAME if cache else None


def _entry(tests: dict[str, float]) -> dict[str, object]:
    long = {test: took for test, took in tests.items() if took >= NOTED_SECONDS}
    return {"seconds": round(sum(tests.values()), 1), "tests": _named(long)}


def _named(tests: dict[str, float]) -> dict[str, float]:
    return {test.partition("::")[2]: round(took, 1) for test, took in tests.items()}


def _parse(record: dict[str, dict[str, object]]) -> Durations:
    durations = Durations()
    for file, entry in record.items():
        tests = entry["tests"]
        if not isinstance(tests, dict) or not isinstance(entry["seconds"], int | float):
            raise ValueError(  # noqa: TRY004 (the file is wrong, not a caller)
                f"the record of durations is broken at {file}"
            )
        durations.files[file] = float(entry["seconds"])
        durations.tests.update({f"{file}::{name}": float(took) for name, took in tests.items()})
    return durations
