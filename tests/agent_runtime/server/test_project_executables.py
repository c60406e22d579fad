"""Tests of the agent server's routes for the executables of a project, such as hooks, MCP servers and
plugins.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent_runtime.server.conftest import message, start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.hostile_repository import HostileRepository
from tests.support.scripted_llm import ScriptedLLM, call, say


@pytest.fixture
def repository(tmp_path: Path) -> HostileRepository:
    return HostileRepository(tmp_path / "work")


def executables_of(server: AgentServer, repository: HostileRepository) -> dict[str, dict[str, Any]]:
    found = server.call("POST", "/api/offers", json={"project_dir": str(repository.path)})
    return {executable["kind"]: executable for executable in found["offers"]}


def say_to(server: AgentServer, conversation_id: str) -> None:
    server.call("POST", f"/api/conversations/{conversation_id}/events", json=message("Go on.", run=True))
    wait_until(lambda: status_of(server, conversation_id) == "finished")


def test_a_conversation_says_what_it_has_taken_up(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, repository: HostileRepository
):
    executables = executables_of(server, repository)
    wanted = [executables["hooks"]["hash"], executables["setup_script"]["hash"], "0" * 64]
    info = server.call(
        "POST", "/api/conversations", json=start_request(scripted_llm, tmp_path, consent=wanted)
    )
    conversation = f"/api/conversations/{info['id']}"

    first = server.call("GET", f"{conversation}/offers")
    more = {"hashes": [executables["plugin"]["hash"], executables["hooks"]["hash"]]}
    second = server.call("POST", f"{conversation}/consent", json=more)

    assert first["consented"] == [executables["hooks"]["hash"]]
    assert second["consented"] == [executables["hooks"]["hash"], executables["plugin"]["hash"]]
    assert [executable["kind"] for executable in second["offers"]] == list(executables)
    assert repository.ran() == set()


def test_what_was_taken_up_is_there_after_a_restart(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, repository: HostileRepository
):
    own_server.start()
    file = repository.path / ".mcp.json"
    servers = json.loads(file.read_text())
    servers["mcpServers"]["sums"]["env"] = {"OFFERED": "by the repository"}
    file.write_text(json.dumps(servers))
    kinds = ("hooks", "mcp_server", "plugin")
    hashes = [executables_of(own_server, repository)[kind]["hash"] for kind in kinds]
    body = start_request(scripted_llm, tmp_path, consent=hashes)
    info = own_server.call("POST", "/api/conversations", json=body)
    own_server.kill()
    own_server.start()
    # The user has not seen this new version. The version that the user approved is kept and runs.
    servers["mcpServers"]["sums"]["env"] = {"OFFERED": "by somebody else"}
    file.write_text(json.dumps(servers))

    own_server.call("POST", "/api/conversations", json={**body, "conversation_id": info["id"]})
    scripted_llm.script(call("environment", name="OFFERED"), say("Done."))
    say_to(own_server, info["id"])

    assert repository.ran() == set(kinds)
    assert "by the repository" in scripted_llm.requests[1].last_text


@pytest.mark.parametrize(
    ("kind", "status", "code"), [("setup_script", 409, "offer_changed"), (None, 409, "offer_changed")]
)
def test_what_cannot_join_is_refused(
    server: AgentServer,
    scripted_llm: ScriptedLLM,
    tmp_path: Path,
    repository: HostileRepository,
    kind: str | None,
    status: int,
    code: str,
):
    wanted = executables_of(server, repository)[kind]["hash"] if kind else "0" * 64
    info = server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))

    with server.http as http:
        refused = http.post(f"/api/conversations/{info['id']}/consent", json={"hashes": [wanted]})

    assert (refused.status_code, refused.json()["code"]) == (status, code)


def test_a_place_must_be_named_in_full(server: AgentServer):
    with server.http as http:
        refused = http.post("/api/offers", json={"project_dir": "work"})

    assert refused.status_code == 422


def test_what_a_further_project_offers_runs_there_and_a_name_that_is_taken_is_told(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, repository: HostileRepository
):
    own_server.start()
    lamp, place = HostileRepository(tmp_path / "lamp"), str(tmp_path / "lamp")
    executables, of_lamp = executables_of(own_server, repository), executables_of(own_server, lamp)
    assert executables["mcp_server"]["hash"] == of_lamp["mcp_server"]["hash"], "the same content in both"
    body = start_request(scripted_llm, tmp_path, consent=[executables["mcp_server"]["hash"]])
    body["agent"]["agent_context"] = {"further_projects": [place]}
    body["agent"]["tools"] = [*body["agent"]["tools"], {"name": "task_tool_set"}]
    (lamp.path / ".agents/agents").mkdir()
    (lamp.path / ".agents/agents/scribe.md").write_text("---\nname: scribe\n---\nWrite.\n")
    hashes = [of_lamp[kind]["hash"] for kind in ("hooks", "mcp_server")]
    further = [{"project_dir": place, "hashes": hashes}]
    info = own_server.call("POST", "/api/conversations", json={**body, "further_consent": further})
    conversation = f"/api/conversations/{info['id']}"
    scripted_llm.script(say("Done."), call("add", a=1, b=2), say("3"))
    say_to(own_server, info["id"])
    assert (repository.ran(), lamp.ran()) == ({"mcp_server"}, {"hooks"})
    assert "scribe" in str(scripted_llm.requests[0].body["tools"])

    before = own_server.call("GET", f"{conversation}/offers", params={"project_dir": place})
    assert before["consented"] == hashes[:1]
    assert before["name_taken"] == hashes[1:]
    file = lamp.path / ".mcp.json"
    file.write_text(file.read_text().replace('"sums"', '"lamp_sums"'))
    renamed, plugin = (executables_of(own_server, lamp)[kind]["hash"] for kind in ("mcp_server", "plugin"))
    asked = {"hashes": [renamed, plugin], "project_dir": place}
    after = own_server.call("POST", f"{conversation}/consent", json=asked)
    assert after["consented"] == [hashes[0], renamed, plugin]
    assert after["name_taken"] == []
    own_server.kill()
    own_server.start()
    lamp.forget()
    say_to(own_server, info["id"])
    assert lamp.ran() == {"hooks", "mcp_server", "plugin"}
    assert own_server.call("GET", f"{conversation}/offers")["consented"] == [
        executables["mcp_server"]["hash"]
    ]

    with own_server.http as http:
        unknown = http.get(f"{conversation}/offers", params={"project_dir": str(tmp_path)})
        refused = http.post(
            "/api/conversations", json={**body, "further_consent": [{**further[0], "project_dir": "/"}]}
        )
    assert (unknown.status_code, unknown.json()["code"]) == (404, "project_not_in_conversation")
    assert (refused.status_code, refused.json()["code"]) == (404, "project_not_in_conversation")
