"""Tests of questions that MCP servers ask during a tool call, answered over HTTP."""

from pathlib import Path
from typing import Any

from tests.agent_runtime.conversation.conftest import agent_spec
from tests.agent_runtime.conversation.test_mcp_questions import BOOK, asking
from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM, say


def open_questions(server: AgentServer, conversation: str) -> list[dict[str, Any]]:
    states = [one["value"] for one in server.events(conversation) if one.get("key") == "agent_state"]
    return next((state["mcp_questions"] for state in reversed(states) if "mcp_questions" in state), [])


def test_a_question_is_closed_by_a_crash_and_the_next_one_is_answered(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.start()
    scripted_llm.script(BOOK, BOOK, say("Booked."))
    agent = {**agent_spec(scripted_llm), "mcp_config": asking("2025-06-18")}
    body = start_request(scripted_llm, tmp_path, "Book.", agent=agent, ask_when_stuck=True)
    conversation = own_server.call("POST", "/api/conversations", json=body)["id"]
    route = f"/api/conversations/{conversation}/mcp/answer_question"
    [lost] = wait_until(lambda: open_questions(own_server, conversation))

    own_server.kill()
    own_server.start()
    [asked] = wait_until(
        lambda: [one for one in open_questions(own_server, conversation) if one["id"] != lost["id"]]
    )
    accept = {"action": "accept", "content": {"name": "Fram"}}
    short = {"question_id": asked["id"], "action": "accept", "content": {"name": "F"}}
    with own_server.http as http:
        outdated = http.post(route, json={"question_id": lost["id"], **accept})
        unfit = http.post(route, json=short)
    own_server.call("POST", route, json={"question_id": asked["id"], **accept})
    wait_until(lambda: status_of(own_server, conversation) == "finished")

    assert (outdated.status_code, outdated.json()["code"]) == (409, "mcp_question_closed")
    assert (unfit.status_code, unfit.json()["code"]) == (400, "mcp_answer_invalid")
    assert unfit.json()["detail"] == 'The field name must satisfy {"minLength":2}.'
    assert open_questions(own_server, conversation) == []
    answers = [one for one in own_server.events(conversation) if one["kind"] == "ObservationEvent"]
    assert '"metres": 12' in str(answers[-1])
