"""Tests of a sandbox that forges answers of its user. The fixtures are those of the tests of approvals."""

from typing import Any

import pytest

from tests.app_server.mcp_approvals.test_approvals import (
    APPROVED,
    FORECAST,
    GREEDY,
    TIDES,
    Reports,
    fingerprint,
    reports,
)

__all__ = ["reports"]


async def test_a_server_that_the_user_does_not_know_is_not_approved(reports: Reports) -> None:
    await reports.say({"mcp_approved": {"invented": {"forecast": FORECAST}}})
    assert await reports.known() == {}


@pytest.mark.parametrize(
    "answers",
    [
        [],
        [(fingerprint(FORECAST, TIDES), True)],
        [(fingerprint(FORECAST, GREEDY), False)],
        [(fingerprint(FORECAST, GREEDY), True), (fingerprint(FORECAST, GREEDY), False)],
    ],
)
@pytest.mark.parametrize(
    "told", [{"forecast": GREEDY}, {}, {"forecast": FORECAST, "tides": TIDES}], ids=["changed", "gone", "new"]
)
async def test_a_change_without_the_answer_of_the_user_is_not_approved(
    reports: Reports,
    told: dict[str, Any],
    answers: list[tuple[str, bool]],
) -> None:
    await reports.say({"mcp_approved": APPROVED})
    await reports.say({"mcp_approved": {"weather": told}}, answers=answers)
    assert await reports.known() == APPROVED


async def test_the_answer_in_one_conversation_does_not_count_in_another(reports: Reports) -> None:
    await reports.say({"mcp_approved": APPROVED}, answers=[(fingerprint(FORECAST, GREEDY), True)])
    await reports.say({"mcp_approved": {"weather": {"forecast": GREEDY}}})
    assert await reports.known() == APPROVED
