"""Tests of the routes that list and compare checkpoints and rewind to them, and of their refusals."""

from pathlib import Path
from typing import Any

import pytest

from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM, call, hold, say


class Worked:
    """A finished conversation whose agent has written one file, with helpers to call its
    checkpoint routes.
    """

    def __init__(self, server: AgentServer, llm: ScriptedLLM, path: Path) -> None:
        self.server = server
        body = start_request(llm, path, "Go.")
        self.workspace = Path(body["workspace"]["working_dir"])
        llm.script(call("terminal", command="echo agent > made"), say("Done."))
        self.id = server.call("POST", "/api/conversations", json=body)["id"]
        self.until("finished")
        self.route = f"/api/conversations/{self.id}/checkpoints"

    def until(self, status: str) -> None:
        wait_until(lambda: status_of(self.server, self.id) == status)

    @property
    def first(self) -> str:
        listed = self.server.call("GET", self.route)["checkpoints"]
        return f"{self.route}/{listed[0]['id']}"

    def refusal(self, route: str, body: dict[str, Any]) -> dict[str, Any]:
        with self.server.http as http:
            problem: dict[str, Any] = http.post(route, json=body).json()
        return problem


@pytest.fixture
def worked(server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path) -> Worked:
    return Worked(server, scripted_llm, tmp_path)


def test_checkpoints_are_listed(worked: Worked):
    listed = worked.server.call("GET", worked.route)

    assert [one["kind"] for one in listed["checkpoints"]] == ["turn", "end"]
    assert listed["unavailable"] is None


def test_a_diff_tells_what_a_rewind_would_undo(worked: Worked):
    diff = worked.server.call("GET", f"{worked.first}/diff")

    assert diff["files"] == [{"status": "ADDED", "path": "made"}]
    assert "+agent" in diff["patch"]
    assert diff["edited"] == diff["blocked"] == []


def test_a_conversation_goes_back_to_a_checkpoint(worked: Worked):
    result = worked.server.call("POST", f"{worked.first}/rewind", json={})

    assert result["files"] == [{"status": "DELETED", "path": "made"}]
    assert not (worked.workspace / "made").exists()
    undone = worked.server.call("POST", f"{worked.route}/{result['undo']}/rewind", json={})
    assert undone["files"] == [{"status": "ADDED", "path": "made"}]
    assert (worked.workspace / "made").read_text() == "agent\n"


def test_edits_are_refused_by_name_and_with_a_diff(worked: Worked):
    (worked.workspace / "made").write_text("mine\n")

    problem = worked.refusal(f"{worked.first}/rewind", {})

    assert (problem["status"], problem["code"]) == (409, "edited_since")
    assert problem["diff"]["edited"] == ["made"]
    assert "+mine" in problem["diff"]["patch"]
    assert problem["fix"]


def test_what_cannot_be_is_refused(worked: Worked, scripted_llm: ScriptedLLM):
    unknown = worked.refusal(f"{worked.route}/99/rewind", {})
    nothing = worked.refusal(f"{worked.first}/rewind", {"files": False, "chat": False})
    thinking = hold(say("Done."))
    scripted_llm.script(thinking)
    message = {"role": "user", "content": [{"type": "text", "text": "More."}], "run": True}
    worked.server.call("POST", f"/api/conversations/{worked.id}/events", json=message)
    worked.until("running")
    running = worked.refusal(f"{worked.first}/rewind", {})
    thinking.release()

    assert (unknown["status"], unknown["code"]) == (404, "checkpoint_not_found")
    assert (nothing["status"], nothing["code"]) == (422, "validation_failed")
    assert (running["status"], running["code"]) == (409, "already_running")
    worked.until("finished")
