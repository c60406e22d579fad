"""Hooks and MCP servers in the file of a sub-agent apply only to this sub-agent. If the file belongs to the
project, they need the user's consent.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_runtime import Conversation
from tests.agent_runtime.client.conftest import Place
from tests.agent_runtime.client.delegating import by_prompt, parent, results, steps, task
from tests.agent_runtime.server.conftest import wait_until
from tests.support.mcp_processes import STDIO
from tests.support.scripted_llm import Request, call, calls, say, text_of

HOOKS = {"PreToolUse": [{"matcher": "terminal", "hooks": [{"command": "echo {name} >> {marks}"}]}]}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def place(local_or_remote: Place) -> Place:
    return local_or_remote


@pytest.fixture
def project(place: Place) -> Path:
    path = Path(place.workspace.working_dir)
    path.mkdir(exist_ok=True)
    return path


def hooks(name: str, marks: Path) -> dict[str, Any]:
    return dict(json.loads(json.dumps(HOOKS).replace("{name}", name).replace("{marks}", str(marks))))


def write(root: Path, name: str, **parts: Any) -> None:
    path = root / ".agents" / "agents" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    # The file needs YAML. JSON is valid YAML.
    path.write_text(f"---\n{json.dumps({'name': name, **parts})}\n---\nYou work.\n")


def play(place: Place, *kinds: str) -> None:
    """Scripts the model: the agent starts one sub-agent of each kind in `kinds`. Each sub-agent calls the
    terminal, and at the end the agent does too.
    """
    turns = [call("task", prompt=f"Work as {kind}.", subagent_type=kind) for kind in kinds]
    place.llm.fallback = by_prompt(
        Begin=steps(*turns, call("terminal", command="true"), say("Done.")),
        Work=steps(call("terminal", command="true"), say("Worked.")),
    )


def go(conversation: Conversation) -> None:
    conversation.send_message("Begin.")
    conversation.run()


def commit_all(project: Path) -> None:
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        subprocess.run(["git", *identity, *arguments], cwd=project, check=True, capture_output=True)


def lines(marks: Path) -> list[str]:
    return marks.read_text().split() if marks.exists() else []


def requests_of(place: Place, word: str) -> list[Request]:
    return [one for one in place.llm.requests if text_of(one.messages[1]).startswith(word)]


def consents(place: Place) -> dict[str, str]:
    """Returns the hash of each sub-agent of the project that needs consent, by the name of the sub-agent."""
    return {one.name: one.hash for one in place.workspace.executables() if one.kind == "sub_agent"}


def test_its_hooks_run_where_it_works_and_nowhere_else(place: Place, project: Path, tmp_path: Path):
    marks = tmp_path / "marks"
    write(project, "guarded", hooks=hooks("guarded", marks))
    write(project, "plain")
    play(place, "guarded", "plain")

    go(parent(place, consent=[consents(place)["guarded"]]))

    assert lines(marks) == ["guarded"]


def test_its_callers_hooks_run_with_it_too(place: Place, project: Path, tmp_path: Path):
    marks = tmp_path / "marks"
    write(project, "guarded", hooks=hooks("own", marks))
    play(place, "guarded")

    own = hooks("callers", marks)
    go(parent(place, consent=[consents(place)["guarded"]], hook_config=own))

    assert lines(marks) == ["callers", "own", "callers"]


def test_a_sub_agent_of_the_client_does_not_have_them(place: Place, project: Path, tmp_path: Path):
    marks = tmp_path / "marks"
    write(project, "guarded", hooks=hooks("own", marks), mcp_servers={"sums": STDIO})
    place.llm.fallback = by_prompt(
        Begin=steps(call("task", prompt="Lead.", subagent_type="guarded"), say("Done.")),
        Lead=steps(call("task", prompt="Follow."), say("Led.")),
        Follow=steps(call("terminal", command="true"), say("Followed.")),
    )

    go(parent(place, consent=[consents(place)["guarded"]]))

    assert lines(marks) == []
    assert "add" in requests_of(place, "Lead")[0].tool_names
    assert "add" not in requests_of(place, "Follow")[0].tool_names


def test_its_mcp_servers_are_there_for_it_alone(place: Place, project: Path):
    write(project, "reckoner", mcpServers={"sums": STDIO}, tools=["terminal"])
    place.llm.fallback = by_prompt(
        Begin=steps(calls(task("Reckon.", subagent_type="reckoner"), task("Look.")), say("Done.")),
        Reckon=steps(call("add", a=40, b=2), say("It is 42.")),
        Look=steps(say("Seen.")),
    )

    go(parent(place, consent=[consents(place)["reckoner"]]))

    first, second = requests_of(place, "Reckon")
    assert {"add", "terminal"} <= set(first.tool_names)
    assert "42" in second.last_text
    for word in ("Begin", "Look"):
        assert all("add" not in one.tool_names for one in requests_of(place, word))


def test_its_mcp_servers_end_with_its_work(place: Place, project: Path, tmp_path: Path):
    said = tmp_path / "process"
    serve = f"echo $$ > {said}; cd {STDIO['cwd']} && exec {STDIO['command']} {' '.join(STDIO['args'])}"
    write(project, "reckoner", mcp_servers={"sums": {"command": "bash", "args": ["-c", serve]}})
    play(place, "reckoner")

    go(parent(place, consent=[consents(place)["reckoner"]]))

    process = Path("/proc", said.read_text().strip())
    wait_until(lambda: not process.exists())


def test_nothing_of_the_projects_runs_without_consent_and_that_is_said(
    place: Place, project: Path, tmp_path: Path
):
    marks = tmp_path / "marks"
    write(project, "guarded", hooks=hooks("guarded", marks), mcp_servers={"sums": STDIO})
    play(place, "guarded")
    conversation = parent(place)

    go(conversation)

    assert lines(marks) == []
    assert "add" not in requests_of(place, "Work")[0].tool_names
    (result,) = results(conversation)
    assert result["status"] == "completed"
    assert "the user has not consented to them" in result["content"][1]["text"]


def test_an_edited_file_needs_consent_again(place: Place, project: Path, tmp_path: Path):
    marks = tmp_path / "marks"
    write(project, "guarded", hooks=hooks("first", marks))
    shown = consents(place)["guarded"]
    write(project, "guarded", hooks=hooks("second", marks))
    play(place, "guarded")

    go(parent(place, consent=[shown]))

    assert lines(marks) == []
    assert consents(place)["guarded"] != shown


@pytest.mark.parametrize("isolation", ["shared", "worktree"])
def test_what_its_hook_runs_is_what_was_shown(place: Place, project: Path, tmp_path: Path, isolation: str):
    marks = tmp_path / "marks"
    (project / "check.sh").write_text(f"echo checked >> {marks}\n")
    check = {"matcher": "terminal", "hooks": [{"command": "bash check.sh"}]}
    write(project, "guarded", hooks={"PreToolUse": [check]}, isolation=isolation)
    commit_all(project)
    (executable,) = [one for one in place.workspace.executables() if one.kind == "sub_agent"]
    assert [file.path for file in executable.files] == [".agents/agents/guarded.md", "check.sh"]
    assert executable.runs == ["bash check.sh"]
    edit = call("terminal", command=f"echo 'echo edited >> {marks}' > check.sh")
    place.llm.fallback = by_prompt(
        Begin=steps(call("task", prompt="Work.", subagent_type="guarded"), say("Done.")),
        Work=steps(edit, call("terminal", command="true"), say("Worked.")),
    )

    go(parent(place, consent=[executable.hash]))

    # The hook ran once before the edit and did not run after it.
    assert lines(marks) == ["checked"]


def test_what_cannot_be_understood_is_left_out_and_the_rest_works(
    place: Place, project: Path, tmp_path: Path
):
    marks = tmp_path / "marks"
    write(project, "half", hooks={"PreToolUse": "often"}, mcp_servers={"sums": STDIO})
    write(project, "list", hooks=["often"])
    play(place, "half", "list")
    conversation = parent(place, consent=[consents(place)["half"]])

    go(conversation)

    assert [one["status"] for one in results(conversation)] == ["completed", "completed"]
    assert "add" in requests_of(place, "Work as half")[0].tool_names
    assert lines(marks) == []


@pytest.mark.parametrize("local_or_remote", ["local"], indirect=True)  # the server has another home directory
def test_the_users_own_need_no_consent(home: Path, place: Place, tmp_path: Path):
    marks = tmp_path / "marks"
    write(home, "guarded", hooks=hooks("guarded", marks), mcp_servers={"sums": STDIO})
    play(place, "guarded")

    go(parent(place))

    assert lines(marks) == ["guarded"]
    assert "add" in requests_of(place, "Work")[0].tool_names
