"""Tests of confirmations over HTTP: the user's answers, changes of the policy, and a kill -9 while a question
is open.
"""

from pathlib import Path
from typing import Any

from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM, call, calls, say

WAITING = "waiting_for_confirmation"


def asked(server: AgentServer, llm: ScriptedLLM, path: Path) -> str:
    llm.script(call("terminal", command="touch made"))
    body = {**start_request(llm, path, "Go."), "confirmation_policy": {"kind": "AlwaysConfirm"}}
    conversation: str = server.call("POST", "/api/conversations", json=body)["id"]
    wait_until(lambda: status_of(server, conversation) == WAITING)
    return conversation


def answer(server: AgentServer, conversation: str, **body: Any) -> None:
    server.call("POST", f"/api/conversations/{conversation}/events/respond_to_confirmation", json=body)


def refusal(server: AgentServer, route: str, body: dict[str, Any]) -> tuple[int, str]:
    with server.http as http:
        response = http.post(route, json=body)
    return response.status_code, response.json()["code"]


def test_a_question_survives_kill_9_and_the_approved_action_runs_once(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.start()
    conversation = asked(own_server, scripted_llm, tmp_path)

    own_server.kill()
    own_server.start()
    assert status_of(own_server, conversation) == WAITING
    assert not (tmp_path / "work" / "made").exists()
    scripted_llm.script(say("Done."))
    answer(own_server, conversation, accept=True)
    wait_until(lambda: status_of(own_server, conversation) == "finished")

    assert (tmp_path / "work" / "made").exists()
    observed = [e for e in own_server.events(conversation) if e["kind"] == "ObservationEvent"]
    assert len(observed) == 1


def test_a_rejected_agent_can_go_on_at_once(server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path):
    conversation = asked(server, scripted_llm, tmp_path)
    scripted_llm.script(say("Then not."))

    answer(server, conversation, accept=False, reason="Too early.", run=True)
    wait_until(lambda: status_of(server, conversation) == "finished")

    assert not (tmp_path / "work" / "made").exists()
    route = f"/api/conversations/{conversation}/events/respond_to_confirmation"
    assert refusal(server, route, {"accept": True}) == (409, "nothing_to_confirm")


def test_each_action_gets_its_own_answer(server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path):
    scripted_llm.script(calls(*(("terminal", {"command": f"touch {name}"}) for name in ("one", "two"))))
    body = {**start_request(scripted_llm, tmp_path, "Go."), "confirmation_policy": {"kind": "AlwaysConfirm"}}
    conversation = server.call("POST", "/api/conversations", json=body)["id"]
    wait_until(lambda: status_of(server, conversation) == WAITING)
    first, second = (e["id"] for e in server.events(conversation) if e["kind"] == "ActionEvent")
    route = f"/api/conversations/{conversation}/events/respond_to_confirmation"

    both = {"accept": True, "approved_action_ids": [second]}
    with server.http as http:
        assert http.post(route, json=both).status_code == 422
    other = {"accept": False, "approved_action_ids": ["another"]}
    assert refusal(server, route, other) == (409, "confirmation_outdated")
    scripted_llm.script(say("Done."))
    answer(server, conversation, accept=False, reason="Not one.", approved_action_ids=[second])
    wait_until(lambda: status_of(server, conversation) == "finished")

    assert [path.name for path in (tmp_path / "work").iterdir()] == ["two"]
    (refused,) = (e for e in server.events(conversation) if e["kind"] == "UserRejectObservation")
    assert (refused["action_id"], refused["rejection_reason"]) == (first, "Not one.")


def test_a_question_is_answered_by_the_peers_way_of_running(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    conversation = asked(server, scripted_llm, tmp_path)
    scripted_llm.script(say("Done."))

    server.call("POST", f"/api/conversations/{conversation}/run")
    wait_until(lambda: status_of(server, conversation) == "finished")

    assert (tmp_path / "work" / "made").exists()


def test_policy_and_analyzer_are_set_and_unknown_ones_refused(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    body = start_request(scripted_llm, tmp_path)
    route = f"/api/conversations/{server.call('POST', '/api/conversations', json=body)['id']}"

    server.call("POST", f"{route}/confirmation_policy", json={"policy": {"kind": "ConfirmRisky"}})
    analyzer = {"security_analyzer": {"kind": "PolicyRailSecurityAnalyzer"}}
    server.call("POST", f"{route}/security_analyzer", json=analyzer)

    info = server.call("GET", route)
    assert info["confirmation_policy"] == {
        "threshold": "HIGH",
        "confirm_unknown": True,
        "kind": "ConfirmRisky",
    }
    assert info["security_analyzer"] == {"kind": "PolicyRailSecurityAnalyzer"}
    assert refusal(server, f"{route}/confirmation_policy", {"policy": {"kind": "Maybe"}}) == (
        422,
        "unsupported_confirmation_policy",
    )
    unknown = {"security_analyzer": {"kind": "GraySwanAnalyzer"}}
    assert refusal(server, f"{route}/security_analyzer", unknown) == (422, "unsupported_security_analyzer")
    start = {**body, "conversation_id": None, **unknown}
    assert refusal(server, "/api/conversations", start) == (422, "unsupported_safeguard")
