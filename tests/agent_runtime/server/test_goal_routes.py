"""Tests of goals of a conversation over HTTP, also after a kill -9."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM, Turn, hang, hold, say


def verdict(*, complete: bool, missing: str = "") -> Turn:
    return say(json.dumps({"complete": complete, "score": 0.5, "missing": missing}))


def new_conversation(server: AgentServer, llm: ScriptedLLM, path: Path) -> str:
    info = server.call("POST", "/api/conversations", json=start_request(llm, path))
    return f"/api/conversations/{info['id']}"


def goal_of(server: AgentServer, path: str) -> dict[str, Any]:
    return dict(server.call("GET", path)["agent_state"]["goal"])


def test_a_goal_is_set_stopped_and_resumed(server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path):
    path = new_conversation(server, scripted_llm, tmp_path)
    judging = hold(verdict(complete=False))
    scripted_llm.script(say("Done."), judging, say("Done again."), verdict(complete=True))

    assert server.call("POST", f"{path}/goal", json={"objective": "Do it."}) == {"success": True}
    wait_until(lambda: len(scripted_llm.requests) == 2)
    assert goal_of(server, path)["max_iterations"] == 10
    with server.http as http:
        busy = http.post(f"{path}/goal", json={"objective": "Something else."})
    assert server.call("POST", f"{path}/goal/stop") == {"success": True}
    assert goal_of(server, path)["status"] == "interrupted"
    judging.release()
    wait_until(lambda: status_of(server, path.rsplit("/", 1)[-1]) == "finished")
    assert server.call("POST", f"{path}/goal/resume") == {"success": True}
    wait_until(lambda: goal_of(server, path)["status"] == "complete")

    assert (busy.status_code, busy.json()["code"]) == (409, "already_running")


@pytest.mark.parametrize("body", [{}, {"objective": " "}, {"objective": "x", "max_iterations": 0}])
def test_an_invalid_goal_is_refused(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, body: dict[str, Any]
):
    path = new_conversation(server, scripted_llm, tmp_path)

    with server.http as http:
        refused = http.post(f"{path}/goal", json=body)

    assert (refused.status_code, refused.json()["code"]) == (422, "validation_failed")


def test_without_a_goal_there_is_nothing_to_resume_and_stopping_changes_nothing(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    path = new_conversation(server, scripted_llm, tmp_path)

    with server.http as http:
        refused: httpx.Response = http.post(f"{path}/goal/resume")

    assert (refused.status_code, refused.json()["code"]) == (400, "no_resumable_goal")
    assert server.call("POST", f"{path}/goal/stop") == {"success": True}
    assert server.events(path.rsplit("/", 1)[-1]) == []


def test_a_goal_survives_being_killed_in_the_agents_turn_and_in_the_audit(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.start()
    path = new_conversation(own_server, scripted_llm, tmp_path)
    scripted_llm.script(hang(), say("Done."), hang(), verdict(complete=False, missing="A test."))
    scripted_llm.script(say("Tested."), verdict(complete=True))
    own_server.call("POST", f"{path}/goal", json={"objective": "Do it."})

    wait_until(lambda: len(scripted_llm.requests) == 1)
    own_server.kill()
    own_server.start()
    wait_until(lambda: len(scripted_llm.requests) == 3)
    own_server.kill()
    own_server.start()
    wait_until(lambda: status_of(own_server, path.rsplit("/", 1)[-1]) == "finished")

    goal = goal_of(own_server, path)
    assert (goal["status"], goal["iteration"]) == ("complete", 2)
    assert len(scripted_llm.requests) == 6
    assert "A test." in scripted_llm.requests[4].last_text
