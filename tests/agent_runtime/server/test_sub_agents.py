"""Tests of the server's list of sub-agents to which an agent can give tasks."""

from pathlib import Path
from typing import Any

import pytest

from agent_runtime.tools.registry import tool_names
from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.support.agent_app import agent_app, called
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM, call, say

FILE = """---
name: {name}
description: |
  Reviews code.
  <example>Look over my change.</example>
model: fast
tools: Read, Grep
max_iteration_per_run: 5
owner: team
---
You review.
"""


async def listed(path: Path, **wanted: Any) -> dict[str, Any]:
    async with agent_app(path) as client:
        return dict(await called(client, "POST", "/api/sub-agents", json=wanted))


def write(path: Path, name: str, text: str | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if text is not None else FILE.format(name=name))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


async def test_ours_are_there_with_tools_and_a_prompt(tmp_path: Path):
    found = await listed(tmp_path)

    agents = {agent["name"]: agent for agent in found["agents"]}
    assert set(agents) == {"general-purpose", "code-explorer", "bash-runner", "web-researcher"}
    assert all(one["description"] and one["system_prompt"] and one["is_builtin"] for one in agents.values())
    known = {*tool_names(), "browser_tool_set"}
    assert all(set(one["tools"]) <= known for one in agents.values())
    assert found["report"] == []


async def test_a_file_says_what_the_agent_is(tmp_path: Path):
    write(tmp_path / "p" / ".claude" / "agents" / "reviewer.md", "reviewer")

    found = await listed(tmp_path, project_dir=str(tmp_path / "p"), load_builtin=False)

    (agent,) = found["agents"]
    assert (agent["name"], agent["description"], agent["model"]) == ("reviewer", "Reviews code.", "fast")
    assert (agent["tools"], agent["system_prompt"], agent["level"]) == (
        ["Read", "Grep"],
        "You review.",
        "project",
    )
    assert agent["when_to_use_examples"] == ["Look over my change."]
    assert (agent["max_iteration_per_run"], agent["metadata"]) == (5, {"owner": "team"})


async def test_the_project_comes_before_the_user_and_both_before_ours(tmp_path: Path, home: Path):
    write(tmp_path / "p" / ".agents" / "agents" / "a.md", "reviewer")
    write(home / ".openhands" / "agents" / "b.md", "reviewer")
    write(home / ".agents" / "agents" / "c.md", "bash-runner")

    found = await listed(tmp_path, project_dir=str(tmp_path / "p"))
    without = await listed(tmp_path, project_dir=str(tmp_path / "p"), load_project=False, load_user=False)

    levels = {agent["name"]: agent["level"] for agent in found["agents"]}
    assert (levels["reviewer"], levels["bash-runner"], levels["code-explorer"]) == (
        "project",
        "user",
        "builtin",
    )
    reasons = [one["reason"] for one in found["report"]]
    assert len(reasons) == 2
    assert all("has the same name and comes first" in reason for reason in reasons)
    assert all(agent["level"] == "builtin" for agent in without["agents"])


async def test_what_cannot_be_used_is_left_out_and_said(tmp_path: Path):
    directory = tmp_path / "p" / ".agents" / "agents"
    (tmp_path / "secret.md").write_text("secret")
    write(directory / "good.md", "good")
    write(directory / "yaml.md", "", "---\na: [\n---\nx")
    write(directory / "name.md", "", "---\nname: ../../x\n---\nx")
    write(directory / "count.md", "", "---\nmax_iteration_per_run: many\n---\nx")
    (directory / "link.md").symlink_to(tmp_path / "secret.md")

    found = await listed(tmp_path, project_dir=str(tmp_path / "p"), load_builtin=False)

    assert [agent["name"] for agent in found["agents"]] == ["good"]
    assert sorted(Path(one["path"]).name for one in found["report"]) == [
        "count.md", "link.md", "name.md", "yaml.md",
    ]  # fmt: skip
    async with agent_app(tmp_path) as client:
        relative = await client.post("/api/sub-agents", json={"project_dir": "p"})
    assert relative.status_code == 422


async def test_hooks_and_servers_of_a_file_are_listed_and_what_is_wrong_with_them_said(
    tmp_path: Path, home: Path
):
    matter = "hooks:\n  Stop:\n  - hooks: [{command: make}]\nmcpServers:\n  sums: {command: sums}"
    bomb = "a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [*{one}, *{one}, *{one}, *{one}, *{one}, *{one}, *{one}, *{one}]\n"
        for one, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    files = {
        "whole": matter,
        "hooks": "hooks:\n  Stop: often\nmcp_servers:\n  sums: {command: sums}",
        "servers": "hooks:\n  Stop:\n  - hooks: [{command: make}]\nmcp_servers:\n  sums: {args: [a]}",
        "shape": "hooks: [make]",
        "bomb": f"{bomb}hooks: {{Stop: *i}}",
    }
    for name, text in files.items():
        write(home / ".agents" / "agents" / f"{name}.md", "", f"---\nname: {name}\n{text}\n---\nYou work.")
    write(tmp_path / "p" / ".claude" / "agents" / "theirs.md", "", f"---\n{matter}\n---\nYou work.")

    found = await listed(tmp_path, project_dir=str(tmp_path / "p"), load_builtin=False)

    agents = {agent["name"]: agent for agent in found["agents"]}
    assert set(agents) == {*files, "theirs"}
    assert agents["whole"]["hooks"] == {"Stop": [{"hooks": [{"command": "make"}]}]}
    assert agents["whole"]["mcp_servers"] == {"sums": {"command": "sums"}}
    said = {Path(one["path"]).stem: one["reason"] for one in found["report"]}
    assert set(said) == {"hooks", "servers", "shape", "bomb", "theirs"}
    assert "its hooks are not used: stop" in said["hooks"]
    assert "its MCP servers are not used" in said["servers"]
    assert "`hooks` in its front matter is not used" in said["shape"]
    assert "`hooks` in its front matter is not used" in said["bomb"]
    assert "only with the user's consent" in said["theirs"]


def test_a_client_that_sends_the_projects_definition_on_has_not_consented(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    marks = tmp_path / "marks"
    hooks = {"PreToolUse": [{"hooks": [{"command": f"touch {marks}"}]}]}
    definition = {"name": "guarded", "hooks": hooks, "level": "project", "source": "guarded.md"}
    scripted_llm.script(
        call("task", prompt="Work.", subagent_type="guarded"),
        call("terminal", command="true"),
        say("Worked."),
        say("Done."),
    )
    body = start_request(scripted_llm, tmp_path, "Begin.", agent_definitions=[definition])
    body["agent"]["tools"] = [{"name": "terminal"}, {"name": "task_tool_set"}]

    info = server.call("POST", "/api/conversations", json=body)
    wait_until(lambda: status_of(server, info["id"]) == "finished")

    assert "the user has not consented to them" in scripted_llm.requests[-1].last_text
    assert not marks.exists()
