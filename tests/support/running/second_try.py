"""A second try for a few tests that failed: alone, when all others have ended.

A real fault fails again. A test that passes now is unsteady: it depends on what else the machine does. The
run shows both tries and names the test, and stays green. With more failures than allowed there is no second
try.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class SecondTry:
    """What came of it: `output` is pytest's."""

    tests: Sequence[str]
    passed: bool
    output: str


def has_run_all(session: pytest.Session, seen: int) -> bool:
    """False for a run that was cut short: its other tests may fail, too."""
    distributed = session.config.pluginmanager.get_plugin("dsession")
    expected = len(distributed.sched.collection) if distributed else session.testscollected
    return seen >= expected


def try_again(root: Path, ini: Path | None, tests: Sequence[str]) -> SecondTry:
    """Runs these tests in one separate process."""
    settings = ["-c", str(ini)] if ini else []
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *settings, "-n", "0", *tests],
        cwd=root,
        # Its name would make the new process take itself for a worker of this run.
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return SecondTry(tests, done.returncode == pytest.ExitCode.OK, done.stdout)
