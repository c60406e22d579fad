"""Tests of the routes that condense, fork, rewind and name a conversation, ask a side question, and read the
project's instructions.
"""

from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.agent_runtime.conversation.labour import condenser, think
from tests.agent_runtime.server.conftest import message, start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM, say


def finished(
    server: AgentServer, llm: ScriptedLLM, path: Path, *, has_condenser: bool = False
) -> tuple[str, list[dict[str, Any]]]:
    """Runs a conversation with two thoughts and one answer. Returns its id and its events without state
    updates.
    """
    llm.script(think("one"), think("two"), say("Done."))
    body = start_request(llm, path, "Go.")
    if has_condenser:
        body["agent"]["condenser"] = condenser(llm)
    conversation_id = server.call("POST", "/api/conversations", json=body)["id"]
    wait_until(lambda: status_of(server, conversation_id) == "finished")
    page = server.call("GET", f"/api/conversations/{conversation_id}/events/search")
    return conversation_id, [e for e in page["items"] if e["kind"] != "ConversationStateUpdateEvent"]


def refusal(server: AgentServer, route: str, body: dict[str, Any] | None = None) -> tuple[int, str]:
    """Sends a POST that is refused and returns the status and the error code."""
    with server.http as http:
        response = http.post(route, json=body)
    return response.status_code, response.json()["code"]


def test_a_condensation_is_made_on_request(server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path):
    conversation_id, _ = finished(server, scripted_llm, tmp_path, has_condenser=True)
    scripted_llm.script(say("SUMMARY"))

    reply = server.call("POST", f"/api/conversations/{conversation_id}/condense")

    kinds = f"/api/conversations/{conversation_id}/events/search?kind=Condensation"
    assert reply == {"success": True}
    assert server.call("GET", kinds)["items"][0]["summary"] == "SUMMARY"


def test_without_a_condenser_the_request_is_refused(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    conversation_id, _ = finished(server, scripted_llm, tmp_path)

    assert refusal(server, f"/api/conversations/{conversation_id}/condense") == (409, "no_condenser")


def test_a_question_is_answered(server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path):
    conversation_id, _ = finished(server, scripted_llm, tmp_path)
    scripted_llm.script(say("Forty-two."))

    reply = server.call(
        "POST", f"/api/conversations/{conversation_id}/ask_agent", json={"question": "How many?"}
    )

    assert reply == {"response": "Forty-two."}


def test_a_fork_without_a_body_has_all_events_and_a_new_id(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    conversation_id, events = finished(server, scripted_llm, tmp_path)

    info = server.call("POST", f"/api/conversations/{conversation_id}/fork")

    assert info["id"] != conversation_id
    assert info["forked_from_conversation_id"] == conversation_id
    assert [one["id"] for one in server.events(info["id"])] == [one["id"] for one in events]


def test_a_fork_is_a_separate_conversation(server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path):
    conversation_id, events = finished(server, scripted_llm, tmp_path)
    fork_id, route = str(uuid4()), f"/api/conversations/{conversation_id}/fork"

    info = server.call("POST", route, json={"id": fork_id, "from_event_id": events[1]["id"]})

    assert info["id"] == fork_id
    assert info["forked_from_conversation_id"] == conversation_id
    scripted_llm.script(say("Otherwise."))
    server.call("POST", f"/api/conversations/{fork_id}/run")
    wait_until(lambda: status_of(server, fork_id) == "finished")
    assert refusal(server, route, {"id": fork_id}) == (409, "conversation_exists")
    assert refusal(server, route, {"from_event_id": "x"}) == (404, "event_not_found")


def test_a_conversation_can_go_back_to_an_earlier_event(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    conversation_id, events = finished(server, scripted_llm, tmp_path)
    route = f"/api/conversations/{conversation_id}/navigate"

    info = server.call("POST", route, json={"event_id": events[1]["id"]})

    assert info["leaf_event_id"] == events[1]["id"]
    assert info["execution_status"] == "idle"
    assert refusal(server, route, {"event_id": "x"}) == (404, "event_not_found")
    scripted_llm.script(say("Again."))
    sent = message("Once more.", run=True)
    server.call("POST", f"/api/conversations/{conversation_id}/events", json=sent)
    wait_until(lambda: status_of(server, conversation_id) == "finished")
    assert [m["role"] for m in scripted_llm.requests[-1].messages] == ["system", "user", "user"]


def test_title_and_tags_can_be_changed(server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path):
    conversation_id, _ = finished(server, scripted_llm, tmp_path)
    route = f"/api/conversations/{conversation_id}"

    server.call("PATCH", route, json={"title": "New", "tags": {"a": "b"}})

    info = server.call("GET", route)
    assert (info["title"], info["tags"]) == ("New", {"a": "b"})


def test_the_project_is_looked_at_and_each_file_explained(server: AgentServer, tmp_path: Path):
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    (tmp_path / "CLAUDE.md").write_text("")

    found = server.call("POST", "/api/skills", json={"project_dir": str(tmp_path), "load_user": False})

    assert [(one["name"], one["type"]) for one in found["skills"]] == [("AGENTS.md", "repo")]
    assert [(Path(one["path"]).name, one["is_loaded"]) for one in found["report"]] == [
        ("AGENTS.md", True),
        ("CLAUDE.md", False),
    ]
