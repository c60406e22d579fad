"""Tests of frames of a sandbox that the app server passes on to readers of the stream."""

import json

import pytest

from app_server.events.schemas import EventsReport

ABORTED = {"type": "item_aborted", "item_id": "r", "attempt": 1, "reason": "LLMRateLimitError"}
RETRY = {
    "code": "LLMRateLimitError",
    "detail": "slow down",
    "model": "openai/x",
    "wait_seconds": 12.5,
    "next_attempt": 2,
    "max_attempts": 6,
}


@pytest.mark.parametrize("frame", [ABORTED, {**ABORTED, "retry": RETRY}])
def test_a_failed_attempt_is_passed_on_with_its_retry(frame: dict[str, object]):
    (reported,) = EventsReport.model_validate({"frames": [frame]}).frames

    assert json.loads(reported.frame.text) == frame
