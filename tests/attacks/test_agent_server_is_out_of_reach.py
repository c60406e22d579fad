"""In a container, no process that runs for the agent can reach the agent server, its log or its keys."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.sandbox_image import sandbox_image
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import (
    AppServerProcess,
    Json,
    add_model,
    events,
    start_conversation,
    wait_for_status,
)

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

PROBE = (Path(__file__).parents[1] / "support" / "server_probe.py").read_text()
WRITE_PROBE = f"cat > /tmp/probe.py <<'END_OF_PROBE'\n{PROBE}\nEND_OF_PROBE"
USERS = "grep ^Uid: /proc/self/status"
AS_AGENT = "Uid:\t10001\t10001\t10001\t10001"
WALLS = "grep -E '^(Cap|NoNewPrivs|Uid|Gid)' /proc/self/status | tr '\\t' ' '"
PROJECT = "/workspace/project"


@pytest.fixture
def client(tmp_path: Path, scripted_llm: ScriptedLLM) -> Iterator[httpx.Client]:
    sandbox_image()
    scripted_llm.aside = say("A title")
    environment = {"SLIPWAY_SANDBOX_FLAVOUR": "slim"}
    with (
        AppServerProcess(tmp_path / "home", sandbox="docker", environment=environment) as server,
        server.client() as client,
    ):
        add_model(client, scripted_llm.base_url, scripted_llm.api_key)
        yield client


def test_commands_and_cells_and_links_do_not_reach_the_server(
    client: httpx.Client, scripted_llm: ScriptedLLM
) -> None:
    link = f"{PROJECT}/link"
    to_log = f"ln -s $(ls -d /workspace/conversations/*/log.sqlite) {link}"
    into = f"ln -s $(ls -d /workspace/conversations/*/ | head -1)planted {PROJECT}/into"
    scripted_llm.script(
        call("terminal", command=f"{WRITE_PROBE}\npython3 /tmp/probe.py && {WALLS}"),
        call(
            "execute_ipython_cell", code="import subprocess as s\nprint(s.getoutput('python3 /tmp/probe.py'))"
        ),
        call("terminal", command=f"{to_log}; {into}; echo linked"),
        call("file_editor", command="view", path=link),
        call("file_editor", command="create", path=f"{PROJECT}/into", file_text="mine"),
        call("grep", pattern="SQLite format", path=link),
        call("finish", message="done"),
    )
    conversation_id = start_conversation(client, "attack", llm_profile="scripted", confirmation_mode="never")
    wait_for_status(client, conversation_id, "finished")

    probed, cell, linked, viewed, created, searched, *_ = observations(client, conversation_id)
    lines = text_of(probed).splitlines()
    others = [line for line in lines if not line.startswith(("Uid", "Gid", "Cap", "NoNewPrivs"))]
    assert others[0].startswith("tried "), text_of(probed)
    assert "Uid: 10001 10001 10001 10001" in lines
    assert "NoNewPrivs: 1" in lines
    assert [line.split()[1] for line in lines if line.startswith("Cap")] == ["0" * 16] * 5
    assert text_of(cell).startswith("tried "), text_of(cell)
    assert "linked" in text_of(linked)
    for refused in (viewed, created):
        assert refused["is_error"], text_of(refused)
    assert "SQLite format" not in text_of(viewed)
    assert "SQLite format 3" not in text_of(searched)
    said = run(client, conversation_id, "ls /workspace/conversations/*/; python3 /tmp/probe.py")
    assert "planted" not in said
    assert said.splitlines()[-1].startswith("tried ")
    assert [line for line in said.splitlines() if line.endswith(("server", "process"))] == []


def test_everything_that_is_started_for_the_agent_runs_as_the_agent(
    client: httpx.Client, scripted_llm: ScriptedLLM
) -> None:
    hook = f"{USERS} > /tmp/by-hook"
    git = (
        f"git init -q . && cd .git/hooks && printf '#!/bin/sh\\n{hook}' > post-commit && chmod +x post-commit"
        " && cd ../.. && git -c user.name=a -c user.email=b commit -qm one --allow-empty && cat /tmp/by-hook"
    )
    scripted_llm.script(
        call("terminal", command="sleep 1000 & echo in background $!"),
        call("terminal", command="echo begun; sleep 1000", timeout=1),
        call("terminal", command="C-c", is_input=True),
        call(
            "terminal", command="umask 077; echo secret > private; stat -c '%a %u' private; jobs -r | wc -l"
        ),
        call(
            "file_editor", command="str_replace", path=f"{PROJECT}/private", old_str="secret", new_str="known"
        ),
        call("file_editor", command="create", path=f"{PROJECT}/made", file_text="made\n"),
        call("terminal", command=f"stat -c '%u %n' made && echo more >> made && cat private made && {USERS}"),
        call("execute_ipython_cell", code="print(open('/proc/self/status').read())"),
        call("task_tracker", command="plan", task_list=[{"title": "a task", "status": "todo"}]),
        call("finish", message="done"),
    )
    conversation_id = start_conversation(client, "work", llm_profile="scripted", confirmation_mode="never")
    wait_for_status(client, conversation_id, "finished")

    seen = observations(client, conversation_id)
    found = [text_of(one) for one in seen]
    background, waiting, _, private, edited, _, made, cell, tasks, *_ = found
    assert "in background" in background
    assert "begun" in waiting
    assert seen[2]["exit_code"] == 130
    assert private.split()[:3] == ["600", "10001", "1"], private
    assert "known" in edited, edited
    assert made.splitlines()[0] == "10001 made"
    assert made.splitlines()[1:4] == ["known", "made", "more"]
    assert AS_AGENT in made
    assert AS_AGENT in cell
    assert "updated" in tasks
    assert AS_AGENT in run(client, conversation_id, USERS)
    assert AS_AGENT in run(client, conversation_id, git)


def observations(client: httpx.Client, conversation_id: str) -> list[Json]:
    return [event["observation"] for event in events(client, conversation_id) if "observation" in event]


def text_of(observation: Json) -> str:
    return "\n".join(part["text"] for part in observation["content"] if part["type"] == "text")


def run(client: httpx.Client, conversation_id: str, command: str) -> str:
    """Runs a command through the app server's route for shell commands and returns its standard output."""
    url = f"/app-conversations/{conversation_id}/execute-bash-command"
    reply = client.post(url, json={"command": command, "timeout": 60}).raise_for_status().json()
    return str(reply["stdout"])
