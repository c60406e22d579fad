"""Runs a few failed tests a second time: alone, when all other tests have ended.

A real fault fails again. A test that passes now is unsteady: its result depends on what else the machine
does. The run shows both results, names the test, and counts as passed. If more tests failed than the option
allows, there is no second try.
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
    """The result of a second try. `output` is the output of pytest."""

    tests: Sequence[str]
    passed: bool
    output: str


def has_run_all(session: pytest.Session, seen: int) -> bool:
    """Returns whether all collected tests have run. In a run that was cut short, tests that did not run might
    have failed too. `seen`: the number of tests that have run.
    """
    distributed = session.config.pluginmanager.get_plugin("dsession")
    expected = len(distributed.sched.collection) if distributed else session.testscollected
    return seen >= expected


def try_again(root: Path, ini: Path | None, tests: Sequence[str]) -> SecondTry:
    """Runs these tests again in one separate process, and returns the result. `ini`: the settings file of
    pytest; None for the default file.
    """
    settings = ["-c", str(ini)] if ini else []
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *settings, "-n", "0", *tests],
        cwd=root,
        # With the variables of pytest, the new process would act as a worker of this run.
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return SecondTry(tests, done.returncode == pytest.ExitCode.OK, done.stdout)
