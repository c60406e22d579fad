"""Campaigns: sets of tests that are left out if their inputs have not changed since a run in which they
passed.
"""

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
    """A set of tests. `tests`, `inputs` and `but` are patterns of paths from the root of the repository.

    `inputs`: the files on which the result depends. `but`: files in `tests` that do not belong to the
    campaign.
    """

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
    """Returns the name with a hash of the paths and contents of all input files. `inputs` are patterns of
    paths.
    """
    patterns = tuple(inputs)
    digest = hashlib.sha256()
    for file in tracked_files():
        if _matches(file, patterns):
            digest.update(f"{file}\0".encode())
            digest.update(hashlib.sha256((ROOT / file).read_bytes()).digest())
    return f"{name}-{digest.hexdigest()[:32]}"


@cache
def read_campaigns() -> tuple[Campaign, ...]:
    """Reads the campaigns from tests/campaigns.toml.

    Raises OSError if the file is not readable, and tomllib.TOMLDecodeError or TypeError if it is invalid.
    """
    return tuple(_campaign(name, each) for name, each in tomllib.loads(CAMPAIGNS_FILE.read_text()).items())


@cache
def tracked_files() -> tuple[str, ...]:
    """Returns the paths, from the root, of all files of the checkout. New files are included, ignored files
    are not.
    """
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return tuple(sorted(file for file in done.stdout.splitlines() if (ROOT / file).is_file()))


def to_leave_out(green: Path | None) -> list[Campaign]:
    """Returns the campaigns that need not run. green: the folder of passed campaigns; None to run all."""
    if green is None or not green.is_dir():
        return []
    return [campaign for campaign in read_campaigns() if (green / campaign.key()).exists()]


def remember(green: Path, seconds: Mapping[str, float], failed: Iterable[str]) -> None:
    """Stores in `green` each campaign of which at least one test ran, and no test failed or was skipped.

    seconds: the tests that ran. failed: the tests that failed or were skipped.
    """
    green.mkdir(parents=True, exist_ok=True)
    for campaign in read_campaigns():
        if any(map(campaign.holds, seconds)) and not any(map(campaign.holds, failed)):
            (green / campaign.key()).touch()


def _campaign(name: str, fields: dict[str, Any]) -> Campaign:
    return Campaign(name, tuple(fields["tests"]), tuple(fields["inputs"]), tuple(fields.get("but", ())))


def _matches(file: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch(file, pattern) for pattern in patterns)
