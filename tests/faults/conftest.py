"""Real processes that are killed, cut off and starved, and what they must look like afterwards."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.agent_runtime.server.conftest import own_server
from tests.support.report_receiver import ReportReceiver

__all__ = ["own_server"]

ANSWERS = {"ObservationEvent", "AgentErrorEvent", "UserRejectObservation"}


@pytest.fixture
def receiver() -> Iterator[ReportReceiver]:
    with ReportReceiver() as receiver:
        yield receiver


def assert_whole(log: list[dict[str, Any]]) -> None:
    """No event twice, and each call answered exactly once, after it was made."""
    ids = [event["id"] for event in log]
    assert len(set(ids)) == len(ids)
    called = [event["tool_call_id"] for event in log if event["kind"] == "ActionEvent"]
    answered = [event["tool_call_id"] for event in log if event["kind"] in ANSWERS]
    assert len(set(called)) == len(called)
    assert sorted(answered) == sorted(called)
    places = {event["tool_call_id"]: at for at, event in enumerate(log) if event["kind"] == "ActionEvent"}
    assert all(places[e["tool_call_id"]] < at for at, e in enumerate(log) if e["kind"] in ANSWERS)
