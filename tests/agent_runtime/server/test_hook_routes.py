"""The hooks that a project contains are shown to the client. They run only if the client sends them back."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM, call, say

STOP = {"hooks": [{"type": "command", "command": "touch stopped"}]}


def write(project: Path, name: str, content: str) -> None:
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text(content)


def hooks_of(server: AgentServer, project: Path) -> dict[str, Any] | None:
    found: dict[str, Any] | None = server.call("POST", "/api/hooks", json={"project_dir": str(project)})[
        "hook_config"
    ]
    return found


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (".openhands/hooks.json", {"stop": [STOP]}),
        (".openhands/hooks.json", {"hooks": {"Stop": [STOP]}}),
        (".claude/settings.json", {"permissions": {}, "hooks": {"Stop": [STOP], "Notification": []}}),
    ],
)
def test_the_hooks_of_a_project_run_only_if_they_are_sent_back(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, name: str, content: dict[str, Any]
):
    work = tmp_path / "work"
    write(work, name, json.dumps(content))
    scripted_llm.fallback = lambda _: call("finish", message="Done.")

    found = hooks_of(server, work)
    assert found is not None
    first = server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path, "Go."))
    wait_until(lambda: status_of(server, first["id"]) == "finished")
    ran_unasked = (work / "stopped").exists()
    body = start_request(scripted_llm, tmp_path, "Go.", hook_config=found)
    second = server.call("POST", "/api/conversations", json=body)
    wait_until(lambda: status_of(server, second["id"]) == "finished")

    assert found["stop"][0]["hooks"][0]["command"] == "touch stopped"
    assert not ran_unasked
    assert (work / "stopped").exists()
    assert second["hook_config"] == found


def test_a_project_without_hooks_has_none(server: AgentServer, tmp_path: Path):
    write(tmp_path, ".claude/settings.json", '{"permissions": {}}')

    assert hooks_of(server, tmp_path) is None
    assert hooks_of(server, tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    "content", ["{", '{"stop": [{"hooks": [{"command": ""}]}]}', '{"hooks": {"Stop": 1}}']
)
def test_a_file_that_cannot_be_understood_is_named(server: AgentServer, tmp_path: Path, content: str):
    write(tmp_path, ".openhands/hooks.json", content)

    with server.http as http:
        refused = http.post("/api/hooks", json={"project_dir": str(tmp_path)})

    assert (refused.status_code, refused.json()["code"]) == (422, "hooks_file_invalid")
    assert ".openhands/hooks.json" in refused.json()["detail"]


def test_hooks_that_cannot_be_are_refused_with_the_conversation(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    body = start_request(scripted_llm, tmp_path, hook_config={"stop": [{"hooks": [{"type": "agent"}]}]})

    with server.http as http:
        refused = http.post("/api/conversations", json=body)

    assert (refused.status_code, refused.json()["code"]) == (422, "hook_config_invalid")
    assert "hook_config.stop.0.hooks.0" in refused.json()["detail"]


def test_a_server_killed_in_a_stop_hook_runs_it_again(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.start()
    scripted_llm.script(say("Done."))
    once = "echo x >> tries; test $(wc -l < tries) -gt 1 || sleep 600"
    hooks = {"stop": [{"hooks": [{"command": once}]}]}
    body = start_request(scripted_llm, tmp_path, "Go.", hook_config=hooks)
    info = own_server.call("POST", "/api/conversations", json=body)
    wait_until((tmp_path / "work" / "tries").exists)

    own_server.kill()
    own_server.start()

    wait_until(lambda: status_of(own_server, info["id"]) == "finished")
    assert len(scripted_llm.requests) == 1
