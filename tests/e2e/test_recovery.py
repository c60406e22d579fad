"""A process is killed at any moment: no event is lost or stored twice, and no conversation keeps the status
"running" for ever.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import orjson
import pytest
from websockets.sync.client import ClientConnection

from tests.e2e.conftest import SANDBOX_KINDS
from tests.support.hostile_repository import HostileRepository
from tests.support.patience import PATIENCE_SECONDS
from tests.support.sandbox_image import sandbox_image
from tests.support.scripted_llm import ScriptedLLM, call
from tests.support.server import (
    AppServerProcess,
    Json,
    conversation,
    events,
    start_conversation,
    start_task,
    wait_for_status,
    wait_until,
)


def ids(log: list[Json]) -> list[str]:
    return [event["id"] for event in log]


def actions(log: list[Json], tool: str) -> list[Json]:
    return [event for event in log if event["kind"] == "ActionEvent" and event["tool_name"] == tool]


def answers(log: list[Json], action: Json) -> list[Json]:
    kinds = {"ObservationEvent", "AgentErrorEvent", "UserRejectObservation"}
    return [e for e in log if e["kind"] in kinds and e["tool_call_id"] == action["tool_call_id"]]


def wait_for_running_command(client: httpx.Client, conversation_id: str) -> None:
    """Returns when the app server has a terminal action that has no result yet."""

    def is_running() -> bool:
        log = events(client, conversation_id)
        return any(not answers(log, action) for action in actions(log, "terminal"))

    wait_until(is_running, lambda: "a running command")


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[AppServerProcess]:
    """Yields an app server that runs as the command that users type. Other tests use a forked process."""
    kind = getattr(request, "param", "process")
    if kind == "docker":
        sandbox_image()
    with AppServerProcess(tmp_path / "home", sandbox=kind, python=(sys.executable,)) as process:
        yield process


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> str:
    """Returns the kind of sandbox in this case of the test: `process` or `docker`."""
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

        wait_for_status(client, conversation_id, "finished")
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

        wait_for_status(client, conversation_id, "finished")
        log = events(client, conversation_id)
        interrupted, after = actions(log, "terminal")
        assert [answer["kind"] for answer in answers(log, interrupted)] == ["AgentErrorEvent"]
        assert [answer["observation"]["exit_code"] for answer in answers(log, after)] == [0]
        assert len(set(ids(log))) == len(log)


def test_a_set_up_script_that_died_with_the_app_server_is_said_to_and_can_be_allowed_again(
    server: AppServerProcess, tmp_path: Path
) -> None:
    repository = HostileRepository(tmp_path / "harbour", serves=False)
    script = repository.path / ".openhands/setup.sh"
    script.write_text("echo begun\nuntil [ -e ../go ]; do sleep 0.05; done\necho released\n")
    repository.commit()
    with server.client() as client:
        request = {"selected_repository": str(repository.path)}
        conversation_id = client.post("/app-conversations", json=request).raise_for_status().json()["id"]
        wait_until(
            lambda: start_task(client, conversation_id)["status"] == "READY",
            lambda: f"the start: {start_task(client, conversation_id)}",
        )
        consent = f"/app-conversations/{conversation_id}/consent"
        executables = [item["offer"] for item in client.get(consent).raise_for_status().json()["items"]]
        allow = {"allow": [each["hash"] for each in executables if each["kind"] == "setup_script"]}

        client.post(consent, json=allow).raise_for_status()
        _wait_for_setup(client, conversation_id, "running", output="begun\n")
        server.kill()
        server.start()

        _wait_for_setup(client, conversation_id, "failed", output="begun\n")
        assert "ended while the script ran" in _setup(client, conversation_id)["detail"]
        (server.home / "sandboxes" / conversation_id / "workspace/project/go").touch()
        wait_until(
            lambda: client.post(consent, json=allow).is_success,
            lambda: "the sandbox to be adopted",
        )
        _wait_for_setup(client, conversation_id, "done", output="begun\nreleased\n")


def _setup(client: httpx.Client, conversation_id: str) -> Json:
    stages = start_task(client, conversation_id)["stages"]
    return next(stage for stage in stages if stage["status"] == "RUNNING_SETUP_SCRIPT")


def _wait_for_setup(client: httpx.Client, conversation_id: str, state: str, *, output: str) -> None:
    def is_there() -> bool:
        stage = _setup(client, conversation_id)
        return (stage["state"], stage["output"]) == (state, output)

    wait_until(is_there, lambda: f"{state}: {_setup(client, conversation_id)}")


def _replay(stream: ClientConnection, count: int) -> list[tuple[int, str]]:
    seen: list[tuple[int, str]] = []
    while len(seen) < count:
        frame = orjson.loads(stream.recv(timeout=PATIENCE_SECONDS))
        if frame["type"] == "durable":
            seen.append((frame["seq"], frame["event"]["id"]))
    return seen


def _touch_in_workspace(server: AppServerProcess, kind: str, conversation_id: str, name: str) -> None:
    """Creates a file in the directory of the agent's command, without any server: the servers may be dead."""
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
