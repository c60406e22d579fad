"""Tests of a kill -9 while a sub-agent works on a task."""

from pathlib import Path
from typing import Any

from tests.agent_runtime.client.delegating import by_prompt, results_in, steps
from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM, call, say


def info_of(server: AgentServer, conversation_id: str) -> dict[str, Any]:
    return dict(server.call("GET", f"/api/conversations/{conversation_id}"))


def test_a_task_is_answered_once_and_goes_on_when_it_is_resumed(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.start()
    scripted_llm.fallback = by_prompt(
        Begin=steps(
            call("task", prompt="Wait."),
            call("task", prompt="Go on.", resume="task_00000001"),
            say("Done."),
        ),
        Wait=lambda request: (
            say(f"Back again. {results_in(request)[0]}")
            if results_in(request)
            else call("terminal", command="touch begun; sleep 600")
        ),
    )
    request = start_request(scripted_llm, tmp_path, "Begin.")
    request["agent"] |= {"tools": [{"name": "terminal"}, {"name": "task_tool_set"}]}
    parent = own_server.call("POST", "/api/conversations", json=request)["id"]
    wait_until((tmp_path / "work" / "begun").exists)

    own_server.kill()
    own_server.start()
    wait_until(lambda: status_of(own_server, parent) == "finished")

    events = own_server.events(parent)
    (error,) = [event["error"] for event in events if event["kind"] == "AgentErrorEvent"]
    (result,) = [event["observation"] for event in events if event["kind"] == "ObservationEvent"]
    assert "Interrupted by a restart" in error
    assert (result["task_id"], result["status"]) == ("task_00000001", "completed")
    assert result["content"][0]["text"].startswith("Back again.")
    assert "by a restart" in result["content"][0]["text"]
    info = info_of(own_server, parent)
    (child,) = info["sub_conversation_ids"]
    assert info["agent_state"]["tasks"]["task_00000001"]["status"] == "completed"
    assert info_of(own_server, child)["parent_conversation_id"] == parent


def test_what_a_sub_agent_asks_is_still_asked_after_a_restart(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.start()
    scripted_llm.fallback = by_prompt(
        Begin=steps(call("task", prompt="Write."), say("Done.")),
        Write=steps(call("terminal", command="touch written"), say("Written.")),
    )
    request = start_request(scripted_llm, tmp_path, "Begin.", confirmation_policy={"kind": "AlwaysConfirm"})
    request["agent"] |= {"tools": [{"name": "terminal"}, {"name": "task_tool_set"}]}
    parent = own_server.call("POST", "/api/conversations", json=request)["id"]
    wait_until(lambda: status_of(own_server, parent) == "waiting_for_confirmation")
    own_server.call(
        "POST", f"/api/conversations/{parent}/events/respond_to_confirmation", json={"accept": True}
    )
    wait_until(lambda: info_of(own_server, parent)["sub_conversation_ids"])
    (child,) = info_of(own_server, parent)["sub_conversation_ids"]
    wait_until(lambda: status_of(own_server, parent) == "waiting_for_confirmation")

    own_server.kill()
    own_server.start()
    assert status_of(own_server, parent) == "waiting_for_confirmation"
    assert status_of(own_server, child) == "waiting_for_confirmation"
    # The answer is sent to the sub-agent. After it, the calling conversation continues as well.
    own_server.call(
        "POST", f"/api/conversations/{child}/events/respond_to_confirmation", json={"accept": True}
    )

    wait_until(lambda: status_of(own_server, parent) == "finished")
    assert (tmp_path / "work" / "written").exists()
