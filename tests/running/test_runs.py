"""Tests of the test runner: a hanging test ends, a slow lane fails the run, and the output names each of
them.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LANES = """
[slow]
budget_minutes = {budget}
limit_seconds = {limit}
files = ["test_slow*"]
markers = []
fixtures = []

[quick]
budget_minutes = 1
limit_seconds = 60
files = []
markers = []
fixtures = []
"""


class Project:
    """A folder with tests, which is run with our pytest plugin."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cache = path / "cache"

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text)

    def lanes(self, *, budget: float = 1, limit: int = 60) -> None:
        self.write("lanes.toml", LANES.format(budget=budget, limit=limit))

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        plugins = ("xdist", "pytest_timeout", "tests.support.running.plugin")
        command = [sys.executable, "-m", "pytest", *(f"-p{each}" for each in plugins), "-c", "pytest.ini"]
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
            # Loading plugins that the run does not use would take half of its time.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": str(ROOT),
            "SLIPWAY_TEST_LANES": str(self.path / "lanes.toml"),
            "SLIPWAY_CI_CACHE": str(self.cache),
        }
        return subprocess.run(
            [*command, *arguments],
            cwd=self.path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.write("pytest.ini", "[pytest]\naddopts = -p no:cacheprovider\n")
    project.lanes()
    return project


HANG = """
import threading

def test_hangs():
    never_set = threading.Event()
    never_set.wait()

def test_after_it():
    pass
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_test_that_hangs_fails_at_its_limit_and_shows_where(project: Project, workers: str) -> None:
    project.lanes(limit=1)
    project.write("test_slow_hang.py", HANG)
    done = project.run("-n", workers)
    assert done.returncode == 1, done.stdout
    assert "Timeout" in done.stdout
    assert "never_set.wait()" in done.stdout
    assert "1 failed, 1 passed" in done.stdout
    at_once, _, _ = done.stdout.partition("= FAILURES =")
    assert at_once.count("failed: test_slow_hang.py::test_hangs: Failed: Timeout") == 1


SLOW = """
import threading

def test_takes_long():
    threading.Event().wait(2)
"""


def test_a_lane_over_its_budget_fails_the_run_and_the_slow_test_is_named(project: Project) -> None:
    project.lanes(budget=0.001)
    project.write("test_slow_lane.py", SLOW)
    done = project.run("--budgets")
    assert done.returncode == 1, done.stdout
    assert "OVER BUDGET: slow" in done.stdout
    assert "before 0.0 s  test_slow_lane.py" in done.stdout
    assert "1 passed" in done.stdout


def test_a_lane_within_its_budget_passes_and_its_time_is_shown(project: Project) -> None:
    project.write("test_slow_lane.py", SLOW)
    done = project.run("--budgets")
    assert done.returncode == 0, done.stdout
    assert "slow: 0.0 minutes of 1" in done.stdout
    assert "s  test_slow_lane.py::test_takes_long" in done.stdout


def test_one_lane_runs_alone(project: Project) -> None:
    project.write("test_slow_lane.py", SLOW)
    project.write("test_other.py", "def test_other():\n    pass\n")
    assert "1 passed, 1 deselected" in project.run("--lane", "quick").stdout


ORDER = """
import pytest, threading

@pytest.mark.parametrize("wait", [0, 1.2])
def test_waits(wait):
    threading.Event().wait(wait)
"""


def test_the_next_run_begins_with_the_longest_file(project: Project) -> None:
    project.write("test_a.py", "def test_a():\n    pass\n")
    project.write("test_z.py", ORDER)
    assert project.run().returncode == 0
    done = project.run("-n", "2", "-v")
    ends = [line for line in done.stdout.splitlines() if "PASSED" in line]
    assert any("test_z.py" in line for line in ends)
    collected = project.run("-n", "2", "--collect-only", "-q").stdout
    assert collected.index("test_z.py") < collected.index("test_a.py")


UNSTEADY = """
from pathlib import Path

def test_passes_at_last():
    marker = Path(__file__).with_name("was_here")
    was_here = marker.exists()
    marker.touch()
    assert was_here

def test_beside_it():
    pass
"""
BROKEN = """
def test_is_broken():
    assert 1 == 2
"""


def test_what_fails_gets_a_second_try_alone_and_is_named_either_way(project: Project) -> None:
    project.write("test_a.py", UNSTEADY)
    done = project.run("-n", "2", "--second-try", "2")
    assert done.returncode == 0, done.stdout
    assert "1 failed, 1 passed" in done.stdout, "the first try is told as it was"
    assert "UNSTEADY" in done.stdout
    assert done.stdout.rindex("UNSTEADY") < done.stdout.rindex("test_a.py::test_passes_at_last")

    (project.path / "was_here").unlink()
    project.write("test_b.py", BROKEN)
    done = project.run("--second-try", "2")
    assert done.returncode == 1, done.stdout
    assert "1 failed, 1 passed" in done.stdout, "of the second try"
    assert "FAILED TWICE" in done.stdout

    (project.path / "was_here").unlink()
    done = project.run("--second-try", "1")
    assert done.returncode == 1, done.stdout
    assert "second try" not in done.stdout, "more failed than may be unsteady"


def test_a_run_may_remember_green_campaigns_though_the_settings_leave_a_folder_out(project: Project) -> None:
    project.write("pytest.ini", "[pytest]\naddopts = -p no:cacheprovider --ignore=other\n")
    project.write("test_slow.py", "def test_waits():\n    pass\n")

    run = project.run("--green-campaigns", str(project.cache / "green"))

    assert run.returncode == 0, run.stdout + run.stderr
    assert (project.cache / "green").exists()


@pytest.mark.parametrize(
    "selection", [("-k", "waits"), ("--lane", "quick"), ("test_slow.py",), ("--ignore=another",)]
)
def test_a_partial_run_is_refused_to_remember_green_campaigns(
    project: Project, selection: tuple[str, ...]
) -> None:
    project.write("test_slow.py", "def test_waits():\n    pass\n")

    run = project.run("--green-campaigns", str(project.cache / "green"), *selection)

    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--green-campaigns needs all tests" in run.stderr
    assert not (project.cache / "green").exists()


def test_a_run_that_was_cut_short_gets_no_second_try(project: Project) -> None:
    project.write("test_a.py", UNSTEADY)
    done = project.run("--second-try", "2", "--maxfail", "1")
    assert done.returncode != 0, done.stdout
    assert "second try" not in done.stdout
