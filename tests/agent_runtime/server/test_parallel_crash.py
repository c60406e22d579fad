"""Tests of a kill -9 while several calls of one reply run in parallel."""

from pathlib import Path

from tests.agent_runtime.conversation.test_parallel_calls import MEETING, meet
from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM, calls, say


def test_each_call_is_answered_once_and_those_that_can_have_begun_may_have_run(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.start()
    hanging = {"waits_for": "nobody", "leaves_trace": True}
    scripted_llm.script(
        calls(
            meet("quick"), meet("a", **hanging), meet("b", **hanging), meet("c", at="a", leaves_trace=True)
        ),
        say("I see."),
    )
    request = start_request(scripted_llm, tmp_path, "Go.")
    request["agent"] |= {"tools": [{"name": MEETING}], "tool_concurrency_limit": 2}
    info = own_server.call("POST", "/api/conversations", json=request)
    work = tmp_path / "work"
    wait_until(lambda: (work / "a").exists() and (work / "b").exists())

    own_server.kill()
    own_server.start()
    wait_until(lambda: status_of(own_server, info["id"]) == "finished")

    events = own_server.events(info["id"])
    called = [event["tool_call_id"] for event in events if event["kind"] == "ActionEvent"]
    done = [event["tool_call_id"] for event in events if event["kind"] == "ObservationEvent"]
    errors = {event["tool_call_id"]: event["error"] for event in events if event["kind"] == "AgentErrorEvent"}
    assert done == called[:1]
    assert ["may have run" in errors[call] for call in called[1:]] == [True, True, False]
    assert not (work / "c").exists()
    sent = [m["tool_call_id"] for m in scripted_llm.requests[-1].messages if m["role"] == "tool"]
    assert sent == called
