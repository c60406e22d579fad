"""The pytest plugin with our options: `--lane NAME`, `--budgets`, `--shuffle SEED`, `--green-campaigns
DIRECTORY`, `--second-try MOST`.
"""

import os
from collections import defaultdict
from math import ceil
from pathlib import Path

import pytest
from xdist.remote import Producer

from tests.support.running import budgets, campaigns, longest_first, second_try
from tests.support.running.durations import file_of, read_durations, write_durations
from tests.support.running.lanes import Lane, lane_of, read_lanes

_LANE = "lane"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("slipway")
    names = [lane.name for lane in read_lanes()]
    group.addoption("--lane", choices=names, help="run the tests of one lane only")
    group.addoption("--budgets", action="store_true", help="fail when a lane exceeds its budget by a fifth")
    group.addoption("--shuffle", type=int, metavar="SEED", help="run in a random order")
    group.addoption(
        "--green-campaigns",
        type=Path,
        metavar="DIRECTORY",
        help="leave out campaigns that passed with the same inputs, and remember which pass now",
    )
    group.addoption(
        "--second-try",
        type=int,
        default=0,
        metavar="MOST",
        help="run tests that failed once more, alone; if more than MOST failed, none",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the recorder.

    Raises UsageError if `--green-campaigns` is used with an option that selects only some tests: a campaign
    would be stored as passed although some of its tests did not run.
    """
    remembers = config.getoption("--green-campaigns") and not hasattr(config, "workerinput")
    if remembers and (partial := _selections(config)):
        raise pytest.UsageError(f"--green-campaigns needs all tests: leave out {', '.join(partial)}")
    config.pluginmanager.register(Recorder(config), "slipway-recorder")


def _selections(config: pytest.Config) -> list[str]:
    """Returns the options of the command line that select or leave out tests.

    Options in the settings file are not returned, because they are the same in each run.
    """
    options = {
        "-k": "keyword",
        "-m": "markexpr",
        "--deselect": "deselect",
        "--ignore": "ignore",
        "--ignore-glob": "ignore_glob",
        "--lf": "lf",
        "--lane": "lane",
    }
    settings = config.getini("addopts")
    given = []
    for name, option in options.items():
        value = getattr(config.option, option, None)
        values = value if isinstance(value, list) else [value] if value else []
        if any(f"{name}={each}" not in settings for each in values):
            given.append(name)
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        given.append("the paths of tests")
    return given


def pytest_xdist_auto_num_workers() -> int:
    """Returns the number of workers: three for two CPUs. This is more than one for each CPU, because tests
    wait for a third of their time, for containers, pages and timeouts.
    """
    return ceil(1.5 * len(os.sched_getaffinity(0)))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> longest_first.LongestFirst:
    return longest_first.LongestFirst(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    lanes = {item.nodeid: _place(item) for item in items}
    wanted = config.getoption("--lane")
    left_out = campaigns.to_leave_out(config.getoption("--green-campaigns"))
    kept = [
        item
        for item in items
        if (wanted is None or lanes[item.nodeid].name == wanted)
        and not any(campaign.holds(item.nodeid) for campaign in left_out)
    ]
    if len(kept) < len(items):
        chosen = {item.nodeid for item in kept}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
        items[:] = kept
    seed = config.getoption("--shuffle")
    if seed is not None:
        longest_first.shuffle(items, seed, read_durations())
    elif _workers(config) > 1 or hasattr(config, "workerinput"):
        longest_first.order(items, read_durations())


def _place(item: pytest.Item) -> Lane:
    markers = {marker.name for marker in item.iter_markers()}
    fixtures = getattr(item, "fixturenames", ())
    lane = lane_of(file_of(item.nodeid), markers, fixtures)
    item.user_properties.append((_LANE, lane.name))
    if "timeout" not in markers:
        item.add_marker(pytest.mark.timeout(lane.limit_seconds))
    return lane


def _workers(config: pytest.Config) -> int:
    return len(getattr(config.option, "tx", None) or [None])


class Recorder:
    """Adds up the time of each test and collects the failures, in the process that hands out the tests."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._seconds: dict[str, float] = defaultdict(float)
        self._lanes: dict[str, str] = {}
        self._failed: set[str] = set()
        self._skipped: set[str] = set()
        self._second_try: second_try.SecondTry | None = None
        # Computed now: at the end of the run, campaigns that passed in this run are stored, too.
        self._left_out = campaigns.to_leave_out(config.getoption("--green-campaigns"))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration
        self._lanes.setdefault(report.nodeid, dict(report.user_properties).get(_LANE, "quick"))
        if report.skipped:
            self._skipped.add(report.nodeid)
        elif report.failed:
            self._failed.add(report.nodeid)
        if report.failed and not hasattr(self._config, "workerinput"):
            self._tell(report)

    def _tell(self, report: pytest.TestReport) -> None:
        """Prints a failure at once. pytest prints its report only at the end, and never if the run is cut
        short.
        """
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is None:
            return
        crash = getattr(report.longrepr, "reprcrash", None)
        why = crash.message if crash else report.longreprtext
        terminal.ensure_newline()
        terminal.write_line(f"failed: {report.nodeid}: {why[:300]}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if hasattr(self._config, "workerinput") or not self._seconds:
            return
        if self._may_try_again(session, exitstatus):
            self._second_try = second_try.try_again(
                self._config.rootpath, self._config.inipath, sorted(self._failed)
            )
            if self._second_try.passed:
                session.exitstatus = pytest.ExitCode.OK
        self._earlier = read_durations()
        into = Path(self._config.rootpath) / ".pytest_cache"
        write_durations(self._seconds, self._earlier, into)
        green = self._config.getoption("--green-campaigns")
        # A run that was cut short proves nothing about the campaigns. In a complete run, each campaign
        # without a failed test has passed.
        if green and second_try.has_run_all(session, len(self._lanes)):
            campaigns.remember(green, self._seconds, self._failed | self._skipped)
        if self._config.getoption("--budgets"):
            self._slowness = budgets.pace()
            if budgets.exceeded(self._took(), self._slowness):
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _may_try_again(self, session: pytest.Session, exitstatus: int) -> bool:
        return (
            exitstatus == pytest.ExitCode.TESTS_FAILED
            and 0 < len(self._failed) <= self._config.getoption("--second-try")
            and second_try.has_run_all(session, len(self._lanes))
        )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for campaign in self._left_out:
            terminalreporter.section(
                f"NOT RUN: campaign {campaign.name}, green with the same inputs", sep="!"
            )
        self._summarise_second_try(terminalreporter)
        if not self._config.getoption("--budgets") or not self._seconds:
            return
        took = self._took()
        terminalreporter.section("time")
        terminalreporter.write_line("\n".join(budgets.summary(took)))
        terminalreporter.write_line(f"this machine takes {self._slowness:.2f} times the time of the budgets'")
        for lane in budgets.exceeded(took, self._slowness):
            terminalreporter.section(f"OVER BUDGET: {lane.name}", sep="!", red=True)
            terminalreporter.write_line("\n".join(budgets.grown(lane, took, self._earlier)))

    def _summarise_second_try(self, terminalreporter: pytest.TerminalReporter) -> None:
        again = self._second_try
        if again is None:
            return
        terminalreporter.section("second try, alone")
        terminalreporter.write_line(again.output)
        verdict = "UNSTEADY (failed, then passed alone)" if again.passed else "FAILED TWICE, or one of them"
        terminalreporter.section(verdict, sep="!", red=True)
        terminalreporter.write_line("\n".join(again.tests))

    def _took(self) -> budgets.Took:
        return budgets.Took(self._seconds, self._lanes, _workers(self._config))
