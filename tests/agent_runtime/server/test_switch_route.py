"""Tests of the route that changes the model of a conversation."""

from pathlib import Path

from tests.agent_runtime.conversation.conftest import agent_spec
from tests.agent_runtime.server.conftest import message, start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM, say


def test_a_conversation_goes_on_with_another_model(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    info = server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))
    path = f"/api/conversations/{info['id']}"
    other = agent_spec(scripted_llm, model="openai/other")["llm"]
    scripted_llm.script(say("Hello."))

    assert server.call("POST", f"{path}/switch_llm", json={"llm": other}) == {"success": True}
    server.call("POST", f"{path}/events", json=message("Hi.", run=True))
    wait_until(lambda: status_of(server, info["id"]) == "finished")
    copy = server.call("POST", f"{path}/fork", json={})

    assert info["current_model_id"] == "openai/scripted"
    assert server.call("GET", path)["current_model_id"] == "openai/other"
    assert copy["current_model_id"] == "openai/other"
    assert scripted_llm.requests[0].body["model"] == "other"
    assert scripted_llm.api_key not in str(server.events(info["id"]))


def test_an_invalid_model_is_refused(server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path):
    info = server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))

    with server.http as http:
        refused = http.post(
            f"/api/conversations/{info['id']}/switch_llm",
            json={"llm": {"model": "x", "temperature": "canary"}},
        )

    assert (refused.status_code, refused.json()["code"]) == (422, "validation_failed")
    assert refused.json()["detail"].startswith("llm.temperature")
    assert "canary" not in refused.text
