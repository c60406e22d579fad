"""Campaigns that are left out when they were green with the same inputs."""

from pathlib import Path

from tests.support.running.campaigns import (
    Campaign,
    read_campaigns,
    remember,
    to_leave_out,
    tracked_files,
)
from tests.support.running.lanes import lane_of


def test_each_module_of_the_product_is_an_input_of_a_campaign() -> None:
    product = ("agent_runtime/", "app_server/", "migrations/")
    modules = [file for file in tracked_files() if file.startswith(product) and file.endswith(".py")]
    assert len(modules) > 500
    campaigns = read_campaigns()
    orphans = [file for file in modules if not any(_is_input(file, campaign) for campaign in campaigns)]
    assert orphans == []


def test_each_campaign_has_tests_and_they_are_in_the_campaigns_lane() -> None:
    for campaign in read_campaigns():
        tests = [file for file in tracked_files() if campaign.holds(f"{file}::test")]
        assert tests, campaign.name
        assert {lane_of(file).name for file in tests} == {"campaigns"}, campaign.name


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


def _test_file(campaign: Campaign) -> str:
    return next(file for file in tracked_files() if campaign.holds(f"{file}::test"))


def _is_input(file: str, campaign: Campaign) -> bool:
    return Campaign("", campaign.inputs, ()).holds(f"{file}::")
