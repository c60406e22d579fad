"""Kill anything at any moment: no event is lost or doubled, nothing stays "running" in vain."""

import json
import os
import signal
import subprocess
from pathlib import Path

import httpx
import orjson
import pytest
from websockets.sync.client import ClientConnection

from tests.e2e.conftest import SANDBOX_KINDS
from tests.support.scripted_llm import ScriptedLLM, call
from tests.support.server import (
    AppServerProcess,
    Json,
    conversation,
    events,
    start_conversation,
    wait_for_status,
    wait_until,
)

pytestmark = pytest.mark.timeout(600)


def ids(log: list[Json]) -> list[str]:
    return [event["id"] for event in log]


def actions(log: list[Json], tool: str) -> list[Json]:
    return [event for event in log if event["kind"] == "ActionEvent" and event["tool_name"] == tool]


def answers(log: list[Json], action: Json) -> list[Json]:
    kinds = {"ObservationEvent", "AgentErrorEvent", "UserRejectObservation"}
    return [e for e in log if e["kind"] in kinds and e["tool_call_id"] == action["tool_call_id"]]


def wait_for_running_command(client: httpx.Client, conversation_id: str) -> None:
    """Returns once the app server knows of a terminal action that nothing has answered yet."""

    def is_running() -> bool:
        log = events(client, conversation_id)
        return any(not answers(log, action) for action in actions(log, "terminal"))

    wait_until(is_running, 120, lambda: "a running command")


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of sandbox that this case of the test uses."""
    return str(request.node.callspec.params["server"])


@pytest.mark.parametrize("server", SANDBOX_KINDS, indirect=True)
def test_a_killed_app_server_adopts_the_sandbox_and_catches_up(
    scripted_server: AppServerProcess, kind: str, scripted_llm: ScriptedLLM, repository: Path
) -> None:
    server = scripted_server
    gate = "until [ -e go ]; do sleep 0.05; done; echo released"
    scripted_llm.script(
        call("terminal", command=gate, thought="First a long command."),
        *[call("terminal", command=f"echo step {number}") for number in range(20)],
        call("finish", message="done"),
    )
    with server.client() as client:
        conversation_id = start_conversation(client, "work", selected_repository=str(repository))
        wait_for_running_command(client, conversation_id)
        before = events(client, conversation_id)
        sandbox = conversation(client, conversation_id)["sandbox_id"]

        server.kill()
        _touch_in_workspace(server, kind, conversation_id, "go")
        server.start()

        wait_for_status(client, conversation_id, "finished", timeout=120)
        log = events(client, conversation_id)
        assert conversation(client, conversation_id)["sandbox_id"] == sandbox
        assert ids(log)[: len(before)] == ids(before)
        assert len(set(ids(log))) == len(log)
        assert [len(answers(log, action)) for action in actions(log, "terminal")] == [1] * 21
        with server.stream(conversation_id) as stream:
            assert _replay(stream, len(log)) == list(enumerate(ids(log), start=1))


@pytest.mark.parametrize("server", SANDBOX_KINDS, indirect=True)
def test_a_killed_agent_server_resumes_and_answers_the_interrupted_action_once(
    scripted_server: AppServerProcess, kind: str, scripted_llm: ScriptedLLM, repository: Path
) -> None:
    server = scripted_server
    scripted_llm.script(
        call("terminal", command="echo begun; sleep 600", timeout=600),
        call("terminal", command="echo after the crash"),
        call("finish", message="done"),
    )
    with server.client() as client:
        conversation_id = start_conversation(client, "work", selected_repository=str(repository))
        wait_for_running_command(client, conversation_id)

        os.kill(_agent_server_pid(server, kind, conversation_id), signal.SIGKILL)

        wait_for_status(client, conversation_id, "finished", timeout=120)
        log = events(client, conversation_id)
        interrupted, after = actions(log, "terminal")
        assert [answer["kind"] for answer in answers(log, interrupted)] == ["AgentErrorEvent"]
        assert [answer["observation"]["exit_code"] for answer in answers(log, after)] == [0]
        assert len(set(ids(log))) == len(log)


def _replay(stream: ClientConnection, count: int) -> list[tuple[int, str]]:
    seen: list[tuple[int, str]] = []
    while len(seen) < count:
        frame = orjson.loads(stream.recv(timeout=20))
        if frame["type"] == "durable":
            seen.append((frame["seq"], frame["event"]["id"]))
    return seen


def _touch_in_workspace(server: AppServerProcess, kind: str, conversation_id: str, name: str) -> None:
    """Makes a file where the agent's command runs, past every server: they may be dead."""
    if kind == "process":
        (server.home / "sandboxes" / conversation_id / "workspace/project/voyage" / name).touch()
        return
    path = f"/workspace/project/voyage/{name}"
    subprocess.run(["docker", "exec", f"slipway-sandbox-{conversation_id}", "touch", path], check=True)


def _agent_server_pid(server: AppServerProcess, kind: str, conversation_id: str) -> int:
    if kind == "process":
        handle = server.home / "sandboxes" / conversation_id / "process.json"
        return int(json.loads(handle.read_text())["pid"])
    container = f"slipway-sandbox-{conversation_id}"
    inspected = subprocess.check_output(["docker", "inspect", "--format", "{{.State.Pid}}", container])
    (agent_server,) = _children(int(inspected))
    return agent_server


def _children(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in children.split()]
