"""Tests of reading the logs of conversations that are not open in memory."""

from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from agent_runtime.conversation.event_log.log import EventLog, LogInUseError
from tests.agent_runtime.server.conftest import message, start_request
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM


def is_open_elsewhere(directory: Path) -> bool:
    try:
        EventLog(directory).close()
    except LogInUseError:
        return True
    return False


def test_reading_events_leaves_a_conversation_at_rest(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.start()
    info = own_server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))
    path = f"/api/conversations/{info['id']}/events"
    for number in range(3):
        own_server.call("POST", path, json=message(f"number {number}"))
    before = own_server.events(info["id"])
    own_server.kill()
    own_server.start()

    after = own_server.events(info["id"])
    second = own_server.call("GET", f"{path}/{before[1]['id']}")
    count = own_server.call("GET", f"{path}/count", params={"kind": "MessageEvent"})

    assert after == before
    assert (second["id"], count) == (before[1]["id"], 3)
    directory = tmp_path / "conversations" / info["id"].replace("-", "")
    assert not is_open_elsewhere(directory)
    own_server.call("POST", path, json=message("wake up"))
    assert is_open_elsewhere(directory)
    assert own_server.events(info["id"])[:-1] == before


def test_the_events_of_an_unknown_conversation_are_a_404(server: AgentServer):
    with pytest.raises(httpx.HTTPStatusError) as refused:
        server.call("GET", f"/api/conversations/{uuid4()}/events/search")

    assert refused.value.response.status_code == 404
    assert refused.value.response.json()["code"] == "conversation_not_found"


def test_the_events_of_a_damaged_log_are_a_named_problem(own_server: AgentServer, tmp_path: Path):
    own_server.start()
    damaged = tmp_path / "conversations" / uuid4().hex
    damaged.mkdir(parents=True)
    (damaged / "log.sqlite").write_bytes(b"this is no database" * 100)

    with pytest.raises(httpx.HTTPStatusError) as refused:
        own_server.call("GET", f"/api/conversations/{damaged.name}/events/search")

    assert refused.value.response.status_code == 500
    assert refused.value.response.json()["code"] == "conversation_damaged"
