"""Campaigns and steps are left out if they have passed before with the same inputs."""

import re
from pathlib import Path

import pytest

from tests.support.running import steps
from tests.support.running.campaigns import (
    Campaign,
    read_campaigns,
    remember,
    to_leave_out,
    tracked_files,
)
from tests.support.running.durations import ROOT
from tests.support.running.lanes import lane_of


def test_each_module_of_the_product_is_an_input_of_a_campaign() -> None:
    product = ("agent_runtime/", "app_server/", "migrations/")
    modules = [file for file in tracked_files() if file.startswith(product) and file.endswith(".py")]
    assert len(modules) > 500
    campaigns = read_campaigns()
    orphans = [file for file in modules if not any(_is_input(file, campaign) for campaign in campaigns)]
    assert orphans == []


def test_each_set_has_tests_and_each_campaign_is_in_a_set() -> None:
    for campaign in read_campaigns():
        assert [file for file in tracked_files() if campaign.holds(f"{file}::test")], campaign.name
    tests = [file for file in tracked_files() if re.fullmatch(r"tests/.*/test_[^/]*\.py", file)]
    assert len(tests) > 500
    in_lane = [file for file in tests if lane_of(file).name == "campaigns"]
    in_no_set = [file for file in in_lane if not any(each.holds(file) for each in read_campaigns())]
    assert in_no_set == []


def test_no_test_of_a_set_imports_a_part_of_the_product_that_is_none_of_its_inputs() -> None:
    for campaign in read_campaigns():
        for file in tracked_files():
            if campaign.holds(file) and file.endswith(".py"):
                found = re.findall(
                    r"^\s*(?:from|import) (agent_runtime|app_server)\b", _read(file), re.MULTILINE
                )
                parts = {each.partition("/")[0] for each in campaign.inputs}
                assert {*found} <= parts, (campaign.name, file)


def _read(file: str) -> str:
    return (ROOT / file).read_text()


def test_a_campaign_is_left_out_once_it_was_green(tmp_path: Path) -> None:
    green = tmp_path / "green"
    assert to_leave_out(green) == []
    campaign = read_campaigns()[0]
    remember(green, {f"{_test_file(campaign)}::test_x": 1.0}, failed=[])
    assert to_leave_out(green) == [campaign]
    assert to_leave_out(None) == []


def test_a_campaign_with_a_failure_is_not_remembered(tmp_path: Path) -> None:
    test = f"{_test_file(read_campaigns()[0])}::test_x"
    remember(tmp_path, {test: 1.0}, failed=[test])
    assert to_leave_out(tmp_path) == []


def test_another_input_is_another_key() -> None:
    file = tracked_files()[0]
    assert Campaign("x", (), ()).key() != Campaign("x", (), (file,)).key()


@pytest.mark.parametrize("step", ["front-end", "compatibility"])
def test_a_step_is_left_out_once_it_was_green_with_the_same_inputs(tmp_path: Path, step: str) -> None:
    counter = tmp_path / "runs"
    command = ["sh", "-c", f"echo run >> {counter}"]
    green = tmp_path / "green"
    assert steps.run(green, step, ["false"]) == 1
    assert steps.run(green, step, []) == 1, "one that failed has to run"
    assert [steps.run(green, step, each) for each in (command, command, [])] == [0, 0, 0]
    assert counter.read_text() == "run\n"


def _test_file(campaign: Campaign) -> str:
    return next(file for file in tracked_files() if campaign.holds(f"{file}::test"))


def _is_input(file: str, campaign: Campaign) -> bool:
    return Campaign("", campaign.inputs, ()).holds(f"{file}::")
