"""Tests of an agent server that is killed (kill -9) during a run and is started again."""

import json
from pathlib import Path

from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM, call, calls, hang, say


def test_a_server_killed_in_mid_command_answers_the_call_once_and_finishes_its_run(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.start()
    scripted_llm.script(
        calls(
            ("terminal", {"command": "echo once >> ran; sleep 600"}),
            ("terminal", {"command": "echo no > other"}),
        ),
        say("I saw that it was interrupted."),
    )
    info = own_server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path, "Go."))
    conversation = info["id"]
    wait_until((tmp_path / "work" / "ran").exists)

    own_server.kill()
    own_server.start()
    wait_until(lambda: status_of(own_server, conversation) == "finished")
    own_server.kill()
    own_server.start()

    events = own_server.events(conversation)
    called = [event["tool_call_id"] for event in events if event["kind"] == "ActionEvent"]
    errors = [event for event in events if event["kind"] == "AgentErrorEvent"]
    assert [error["tool_call_id"] for error in errors] == called
    assert "may have run" in errors[0]["error"]
    assert "Not run" in errors[1]["error"]
    assert (tmp_path / "work" / "ran").read_text() == "once\n"
    assert not (tmp_path / "work" / "other").exists()
    answers = [m for m in scripted_llm.requests[-1].messages if m["role"] == "tool"]
    assert len(answers) == 2
    assert len(scripted_llm.requests) == 2


def test_a_server_killed_while_the_model_thinks_asks_again(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.start()
    scripted_llm.script(hang(), calls(("think", {"thought": "again"})), say("done"))
    info = own_server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path, "Go."))
    wait_until(lambda: scripted_llm.requests)

    own_server.kill()
    own_server.start()
    wait_until(lambda: status_of(own_server, info["id"]) == "finished")

    first, second, _ = scripted_llm.requests
    assert first.messages == second.messages


def test_an_orderly_stop_is_resumed_as_well(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.start()
    scripted_llm.script(hang(), say("done"))
    info = own_server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path, "Go."))
    wait_until(lambda: scripted_llm.requests)

    own_server.stop()
    own_server.start()

    wait_until(lambda: status_of(own_server, info["id"]) == "finished")


def test_a_finished_or_paused_conversation_stays_so_after_a_restart(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.start()
    scripted_llm.script(hang())
    info = own_server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path, "Go."))
    wait_until(lambda: scripted_llm.requests)
    own_server.call("POST", f"/api/conversations/{info['id']}/interrupt")

    own_server.kill()
    own_server.start()

    assert status_of(own_server, info["id"]) == "paused"
    assert len(scripted_llm.requests) == 1


def test_a_damaged_log_does_not_keep_the_others_from_coming_back(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.start()
    scripted_llm.script(hang(), say("done"))
    info = own_server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path, "Go."))
    wait_until(lambda: scripted_llm.requests)
    own_server.kill()
    damaged = tmp_path / "conversations" / ("0" * 32)
    damaged.mkdir()
    (damaged / "log.sqlite").write_bytes(b"this is no database" * 100)

    own_server.start()

    wait_until(lambda: status_of(own_server, info["id"]) == "finished")
    assert "cannot be resumed" in own_server.log_text()
    listed = own_server.call("GET", "/api/conversations/search")["items"]
    assert [one["id"] for one in listed] == [info["id"]]


def test_commands_of_the_agent_do_not_see_the_session_key(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.start()
    scripted_llm.script(call("terminal", command="env"), say("done"))
    info = own_server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path, "Go."))
    wait_until(lambda: status_of(own_server, info["id"]) == "finished")

    log = json.dumps(own_server.events(info["id"]))

    assert "PATH=" in log
    assert "session-canary" not in log
