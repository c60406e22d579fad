"""Tests of plugins: a directory or repository with skills, commands, MCP servers and hooks."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agent_runtime.client.delegating import by_prompt, steps
from tests.agent_runtime.server.conftest import message, start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.mcp_processes import ROOT
from tests.support.scripted_llm import ScriptedLLM, call, say, text_of


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    top = tmp_path / "weather"
    write(top / ".claude-plugin/plugin.json", json.dumps({"name": "weather", "version": "1.2"}))
    write(top / "skills/clouds/SKILL.md", "---\nname: clouds\ndescription: Reads clouds.\n---\nLook up.")
    write(top / "commands/report.md", "Report the weather of: $ARGUMENTS")
    write(top / "agents/forecaster.md", "---\nname: forecaster\n---\nForecast.")
    server = {
        "command": sys.executable,
        "args": ["-m", "tests.support.mcp_server", "stdio"],
        "cwd": str(ROOT),
        "env": {"PLUGIN": "${CLAUDE_PLUGIN_ROOT}/data"},
    }
    write(top / ".mcp.json", json.dumps({"mcpServers": {"sums": server}}))
    return top


def git(directory: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=directory, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(directory: Path) -> str:
    git(directory, "init", "-q", "-b", "main")
    git(directory, "add", "-A")
    git(directory, "commit", "-qm", "one")
    return git(directory, "rev-parse", "HEAD")


def started(server: AgentServer, llm: ScriptedLLM, path: Path, text: str, **fields: Any) -> dict[str, Any]:
    info: dict[str, Any] = server.call(
        "POST", "/api/conversations", json=start_request(llm, path, text, **fields)
    )
    wait_until(lambda: status_of(server, info["id"]) == "finished")
    return info


def test_a_plugin_brings_skills_commands_and_servers(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, plugin: Path
):
    scripted_llm.script(call("environment", name="PLUGIN"), say("Sunny."))
    sources = [{"source": str(plugin)}]

    info = started(server, scripted_llm, tmp_path, "/weather:report Oslo and Rome", plugins=sources)

    first = scripted_llm.requests[0]
    assert "Reads clouds." in text_of(first.messages[0])
    assert "Report the weather of: Oslo and Rome" in str(first.messages[-1])
    assert f"{plugin}/data" in scripted_llm.requests[1].last_text
    skills = server.call("GET", f"/api/conversations/{info['id']}/skills")
    assert {"clouds", "weather:report"} <= {skill["name"] for skill in skills["skills"]}


def test_hooks_of_a_plugin_run_after_those_of_the_client(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, plugin: Path
):
    trace = tmp_path / "trace"
    write(plugin / "mark.sh", f"echo plugin >> {trace}")
    hook = {"type": "command", "command": "sh ${CLAUDE_PLUGIN_ROOT}/mark.sh"}
    points = {"UserPromptSubmit": [{"hooks": [hook]}], "SubagentStop": [{"hooks": [hook]}]}
    write(plugin / "hooks/hooks.json", json.dumps({"hooks": points}))
    own = {"user_prompt_submit": [{"hooks": [{"command": f"echo client >> {trace}"}]}]}
    scripted_llm.script(say("Hello."))

    started(server, scripted_llm, tmp_path, "Hello?", plugins=[{"source": str(plugin)}], hook_config=own)

    assert trace.read_text().split() == ["client", "plugin"]


def test_a_repository_is_pinned_to_the_commit_it_was_fetched_at(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, plugin: Path
):
    commit_id = commit(plugin)
    scripted_llm.script(say("Hello."))
    source = {"source": f"file://{plugin}", "ref": "main"}
    fetched = server.call("POST", "/api/plugins/fetch", json=source)
    shutil.rmtree(plugin)

    started(server, scripted_llm, tmp_path, "Hello?", plugins=[{**source, "ref": fetched["resolved_ref"]}])

    assert fetched["resolved_ref"] == commit_id
    assert "Reads clouds." in text_of(scripted_llm.requests[0].messages[0])


def test_creating_it_again_needs_no_plugin(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, plugin: Path
):
    body = start_request(scripted_llm, tmp_path, plugins=[{"source": str(plugin)}])
    info = server.call("POST", "/api/conversations", json=body)
    body["plugins"] = [{"source": "/gone"}]

    again = server.call("POST", "/api/conversations", json={**body, "conversation_id": info["id"]})

    assert again["id"] == info["id"]


def test_fetching_shows_what_a_plugin_holds(server: AgentServer, plugin: Path):
    commit_id = commit(plugin)

    fetched = server.call("POST", "/api/plugins/fetch", json={"source": f"file://{plugin}"})

    assert fetched["resolved_ref"] == commit_id
    assert fetched["manifest"]["version"] == "1.2"
    assert (fetched["skills"], fetched["commands"]) == (["clouds"], ["weather:report"])


def test_plugins_of_a_project_are_listed_and_not_used(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, plugin: Path
):
    project = tmp_path / "work"
    (project / ".agents/plugins").mkdir(parents=True)
    plugin.rename(project / ".agents/plugins/weather")
    scripted_llm.script(say("Hello."))

    listed = server.call("POST", "/api/plugins", json={"project_dir": str(project), "load_user": False})
    started(server, scripted_llm, tmp_path, "Hello?")

    assert [one["name"] for one in listed["plugins"]] == ["weather"]
    assert "commands/report.md" in listed["plugins"][0]["files"]
    assert "Reads clouds." not in str(scripted_llm.requests[0].messages)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"source": "/no/such/directory"}, "no directory"),
        ({"source": "file:///no/such/repository"}, "git fetch failed"),
        ({"source": "PLUGIN", "repo_path": "../.."}, "leads out"),
        ({"source": "PLUGIN", "repo_path": "skills"}, "no plugin"),
        ({"source": "file://PLUGIN", "ref": "--upload-pack=touch /tmp/x"}, "dash"),
        ({"source": "ext::sh -c true"}, "no directory"),
    ],
)
def test_a_plugin_that_cannot_be_had_says_why(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, plugin: Path, source: Any, words: str
):
    named = {key: value.replace("PLUGIN", str(plugin)) for key, value in source.items()}

    with server.http as http:
        reply = http.post("/api/conversations", json=start_request(scripted_llm, tmp_path, plugins=[named]))

    assert reply.status_code == 422
    assert words in reply.json()["detail"]


def test_parts_that_cannot_be_used_leave_the_rest(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, plugin: Path
):
    write(plugin / ".mcp.json", "not json")
    write(plugin / "skills/broken/SKILL.md", "no front matter")
    (plugin / "commands/leak.md").symlink_to("/etc/passwd")
    scripted_llm.script(say("Hello."))

    started(server, scripted_llm, tmp_path, "Hello?", plugins=[{"source": str(plugin)}])

    assert "Reads clouds." in str(scripted_llm.requests[0].messages)
    assert "root:" not in str(scripted_llm.requests[0].messages)


def test_a_plugin_joins_a_conversation_and_stays_after_a_restart(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, plugin: Path
):
    own_server.start()
    scripted_llm.script(
        say("Hello."), call("invoke_skill", name="clouds"), call("add", a=1, b=2), say("3"), say("Yes.")
    )
    info = started(own_server, scripted_llm, tmp_path, "Hello?")
    conversation = f"/api/conversations/{info['id']}"

    own_server.call("POST", f"{conversation}/load_plugin", json={"plugin_ref": str(plugin)})
    say_to(own_server, info["id"], "Look up, then add.")

    assert "clouds: Reads clouds." in str(scripted_llm.requests[1].messages)
    assert "Look up." in scripted_llm.requests[2].last_text
    assert "sum=3" in scripted_llm.requests[3].last_text

    own_server.kill()
    own_server.start()
    say_to(own_server, info["id"], "/weather:report Rome")
    assert "add" in scripted_llm.requests[4].tool_names
    assert "Report the weather of: Rome" in str(scripted_llm.requests[4].messages)


def say_to(server: AgentServer, conversation_id: str, text: str) -> None:
    server.call("POST", f"/api/conversations/{conversation_id}/events", json=message(text, run=True))
    wait_until(lambda: status_of(server, conversation_id) == "finished")


def test_a_plugin_that_is_not_here_is_not_loaded(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    info = server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))

    with server.http as http:
        replies = [
            http.post(f"/api/conversations/{info['id']}/load_plugin", json={"plugin_ref": ref})
            for ref in ("nobody", "/no/such/directory")
        ]

    assert [reply.status_code for reply in replies] == [404, 422]


@pytest.mark.parametrize("joins", ["from the start", "later"])
def test_the_agent_hands_work_to_a_sub_agent_of_a_plugin(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, plugin: Path, joins: str
):
    scripted_llm.fallback = by_prompt(
        Hello=steps(say("Hello."), call("task", prompt="Look.", subagent_type="forecaster"), say("Rain.")),
        Look=lambda request: say(text_of(request.messages[0])[-200:]),
    )
    request = start_request(
        scripted_llm, tmp_path, "Hello.", plugins=[{"source": str(plugin)}] * (joins == "from the start")
    )
    request["agent"] |= {"tools": [{"name": "terminal"}, {"name": "task_tool_set"}]}
    conversation = server.call("POST", "/api/conversations", json=request)["id"]
    wait_until(lambda: status_of(server, conversation) == "finished")

    if joins == "later":
        ref = {"plugin_ref": str(plugin)}
        server.call("POST", f"/api/conversations/{conversation}/load_plugin", json=ref)
    say_to(server, conversation, "What will it be?")

    offered = next(one for one in scripted_llm.requests[1].body["tools"] if one["function"]["name"] == "task")
    assert "forecaster" in offered["function"]["description"]
    (result,) = [e["observation"] for e in server.events(conversation) if e["kind"] == "ObservationEvent"]
    assert (result["subagent"], result["status"]) == ("forecaster", "completed")
    assert "Forecast." in result["content"][0]["text"]


def test_what_of_a_plugin_cannot_be_used_is_said(server: AgentServer, tmp_path: Path, plugin: Path):
    write(plugin / "skills/bad/SKILL.md", "---\na: [\n---\nx")
    project = tmp_path / "work"
    (project / ".agents/plugins").mkdir(parents=True)
    plugin.rename(project / ".agents/plugins/weather")

    body = {"project_dir": str(project), "load_user": False}
    (listed,) = server.call("POST", "/api/plugins", json=body)["plugins"]
    source = {"source": str(project / ".agents/plugins/weather")}
    fetched = server.call("POST", "/api/plugins/fetch", json=source)

    assert listed["left_out"] == fetched["left_out"]
    (reason,) = listed["left_out"]
    assert reason == "skills/bad/SKILL.md: its front matter is not valid YAML"
