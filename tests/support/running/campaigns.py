"""Sets of tests that need not run again: their inputs are those of a run in which they passed."""

import hashlib
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.running.durations import ROOT, file_of

CAMPAIGNS_FILE = ROOT / "tests" / "campaigns.toml"
_ALWAYS = (
    "requirements*.lock",
    "frontend/package-lock.json",
    "pyproject.toml",
    "tests/support/*",
    "tests/*conftest.py",
)


@dataclass(frozen=True)
class Campaign:
    """tests, inputs, but: patterns of paths from the root. `but`: which of the tests do not belong to it."""

    name: str
    tests: tuple[str, ...]
    inputs: tuple[str, ...]
    but: tuple[str, ...] = ()

    def holds(self, test: str) -> bool:
        file = file_of(test)
        return _matches(file, self.tests) and not _matches(file, self.but)

    def key(self) -> str:
        return key_of(self.name, (*self.tests, *self.inputs, *_ALWAYS))


def key_of(name: str, inputs: Iterable[str]) -> str:
    """The name with a hash of the paths and contents of all inputs, which are patterns of paths."""
    patterns = tuple(inputs)
    digest = hashlib.sha256()
    for file in tracked_files():
        if _matches(file, patterns):
            digest.update(f"{file}\0".encode())
            digest.update(hashlib.sha256((ROOT / file).read_bytes()).digest())
    return f"{name}-{digest.hexdigest()[:32]}"


@cache
def read_campaigns() -> tuple[Campaign, ...]:
    """Raises OSError, tomllib.TOMLDecodeError, TypeError."""
    return tuple(_campaign(name, each) for name, each in tomllib.loads(CAMPAIGNS_FILE.read_text()).items())


@cache
def tracked_files() -> tuple[str, ...]:
    """All of the checkout, from the root, those that were never committed included."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return tuple(sorted(file for file in done.stdout.splitlines() if (ROOT / file).is_file()))


def to_leave_out(green: Path | None) -> list[Campaign]:
    """green: where passed campaigns are remembered; None runs all."""
    if green is None or not green.is_dir():
        return []
    return [campaign for campaign in read_campaigns() if (green / campaign.key()).exists()]


def remember(green: Path, seconds: Mapping[str, float], failed: Iterable[str]) -> None:
    """Notes the campaigns of which tests ran and none failed or was skipped."""
    green.mkdir(parents=True, exist_ok=True)
    for campaign in read_campaigns():
        if any(map(campaign.holds, seconds)) and not any(map(campaign.holds, failed)):
            (green / campaign.key()).touch()


def _campaign(name: str, fields: dict[str, Any]) -> Campaign:
    return Campaign(name, tuple(fields["tests"]), tuple(fields["inputs"]), tuple(fields.get("but", ())))


def _matches(file: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch(file, pattern) for pattern in patterns)
