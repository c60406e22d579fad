"""Fixtures and checks for the fault tests, in which real processes are killed, disconnected or lack
resources.
"""

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
    """Checks that no event is in the log twice, and that each tool call is answered exactly once, after the
    call.
    """
    ids = [event["id"] for event in log]
    assert len(set(ids)) == len(ids)
    called = [event["tool_call_id"] for event in log if event["kind"] == "ActionEvent"]
    answered = [event["tool_call_id"] for event in log if event["kind"] in ANSWERS]
    assert len(set(called)) == len(called)
    assert sorted(answered) == sorted(called)
    places = {event["tool_call_id"]: at for at, event in enumerate(log) if event["kind"] == "ActionEvent"}
    assert all(places[e["tool_call_id"]] < at for at, e in enumerate(log) if e["kind"] in ANSWERS)
