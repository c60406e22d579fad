"""The agent server on a small real disk without space. Only the server's process sees the disk."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from tests.agent_runtime.server.conftest import message, start_request, status_of, wait_until
from tests.faults.conftest import assert_whole
from tests.support.agent_server import KEY, AgentServer
from tests.support.patience import PATIENCE_SECONDS
from tests.support.requirements import OWN_MOUNTS
from tests.support.scripted_llm import ScriptedLLM, calls, hold, say

MOUNT = (
    *OWN_MOUNTS,
    "sh",
    "-c",
    'mount -t tmpfs -o size=8m none "$0" && exec "$@"',
)
# The size is limited, in case the directory is by mistake not on the small disk.
FILL = "head -c 64M /dev/zero > filler"


@pytest.fixture
def small(own_server: AgentServer, tmp_path: Path) -> AgentServer:
    """Yields an agent server with conversations and workspace on a disk of 8 MB. Its log is on
    another disk.
    """
    disk = tmp_path / "disk"
    disk.mkdir()
    own_server.prefix = (*MOUNT, str(disk))
    own_server.files = disk
    own_server.start()
    return own_server


def run_command(server: AgentServer, command: str) -> None:
    server.call("POST", "/api/bash/execute_bash_command", json={"command": command, "timeout": 60})


def refusal(server: AgentServer, method: str, path: str, **options: object) -> httpx.Response:
    with server.http as http:
        return http.request(method, path, **options)  # type: ignore[arg-type]


def answers_on_sockets(
    server: AgentServer, conversation: str, said: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Sends the same message on the stream of bare events and on the stream of frames. Returns both
    answers.
    """
    answers = []
    for path, frames_before in ((f"events/{conversation}", 1), (f"session/{conversation}", 2)):
        key = {"X-Session-API-Key": KEY}
        with connect(
            f"{server.ws_url}/sockets/{path}", additional_headers=key, open_timeout=PATIENCE_SECONDS
        ) as socket:
            for _ in range(frames_before):
                socket.recv(timeout=PATIENCE_SECONDS)
            socket.send(json.dumps(said))
            answers.append(json.loads(socket.recv(timeout=PATIENCE_SECONDS)))
            socket.send("{}")  # it is still open
            socket.recv(timeout=PATIENCE_SECONDS)
    return answers[0], answers[1]


def cut_off_by_a_full_disk(
    server: AgentServer, llm: ScriptedLLM, path: Path
) -> tuple[str, list[dict[str, Any]]]:
    """Starts a conversation whose run cannot store the model's reply, because the disk is full.

    Returns its id, and the events before the failure.
    """
    thought = hold(calls(("think", {"thought": "x" * 100_000})))
    llm.script(thought)
    body = start_request(llm, path / "disk", "Go.")
    conversation = server.call("POST", "/api/conversations", json=body)["id"]
    llm.wait_for_request(1)
    before = server.events(conversation)
    run_command(server, FILL)
    thought.release()
    wait_until(lambda: status_of(server, conversation) != "running")
    return conversation, before


@pytest.mark.namespaces
def test_a_full_disk_is_a_clear_failure_and_the_work_goes_on_once_there_is_room(
    small: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    conversation, before = cut_off_by_a_full_disk(small, scripted_llm, tmp_path)

    refused = refusal(small, "POST", f"/api/conversations/{conversation}/events", json=message("y" * 100_000))
    another = refusal(
        small, "POST", "/api/conversations", json=start_request(scripted_llm, tmp_path / "disk")
    )

    said, kept = answers_on_sockets(small, conversation, message("y" * 100_000))

    assert (refused.status_code, refused.json()["code"]) == (507, "disk_full")
    assert (said["kind"], said["code"]) == ("ServerErrorEvent", "disk_full")
    assert (kept["type"], kept["event"]["code"]) == ("transient", "disk_full")
    assert (another.status_code, another.json()["code"]) == (507, "disk_full")
    assert "space" in refused.json()["fix"]
    assert small.events(conversation) == before
    run_command(small, "rm filler")
    scripted_llm.script(calls(("think", {"thought": "again"})), say("Done."))
    small.call("POST", f"/api/conversations/{conversation}/events", json=message("Go on.", run=True))
    wait_until(lambda: status_of(small, conversation) == "finished")
    log = small.events(conversation)
    assert log[: len(before)] == before
    assert_whole(log)


@pytest.mark.namespaces
def test_a_run_that_a_full_disk_ended_says_so_once_there_is_room(
    small: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    conversation, _ = cut_off_by_a_full_disk(small, scripted_llm, tmp_path)

    run_command(small, "rm filler")
    # A message without a run starts nothing, and must not be taken for the end of the run.
    small.call("POST", f"/api/conversations/{conversation}/events", json=message("Still there?"))

    wait_until(lambda: status_of(small, conversation) == "error")
    assert [event["kind"] for event in small.events(conversation)][-2:] == [
        "ConversationErrorEvent",
        "ConversationStateUpdateEvent",
    ]
