"""Clients and the app server see the output of a command while it runs. This live output is not stored."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection

from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.agent_runtime.server.test_sockets import receive, watch
from tests.support.agent_server import AgentServer
from tests.support.report_receiver import ReportReceiver
from tests.support.scripted_llm import ScriptedLLM, calls, say

SECRET = "correct-horse-battery"


@pytest.fixture
def receiver() -> Iterator[ReportReceiver]:
    with ReportReceiver() as receiver:
        yield receiver


@pytest.fixture
def reporting(own_server: AgentServer, receiver: ReportReceiver) -> AgentServer:
    own_server.report_url = receiver.url
    own_server.start()
    return own_server


def start(server: AgentServer, llm: ScriptedLLM, path: Path, command: str, **fields: Any) -> str:
    llm.script(calls(("terminal", {"command": command, "timeout": 60})), say("Done."))
    info = server.call("POST", "/api/conversations", json=start_request(llm, path, "Go.", **fields))
    return str(info["id"])


def outputs_until(socket: ClientConnection, wanted: Callable[[list[dict[str, Any]]], bool]) -> list[Any]:
    """Reads frames until `wanted` is true for one of them. Returns the outputs of all
    frames up to this one.
    """
    found = []
    while True:
        frame = receive(socket)
        if frame["type"] == "output":
            found.append(frame["outputs"])
            if wanted(frame["outputs"]):
                return found


def prints(text: str) -> Callable[[list[dict[str, Any]]], bool]:
    return lambda outputs: any(text in one["text"] for one in outputs)


def test_output_is_seen_while_the_command_runs(
    reporting: AgentServer, receiver: ReportReceiver, scripted_llm: ScriptedLLM, tmp_path: Path
):
    """The output is seen with an unfinished line, also by a client that connects later. At the end the result
    replaces it.
    """
    go_on = tmp_path / "go-on"
    command = rf"printf 'one\n\033[31mtwo\033[0m'; until [ -e {go_on} ]; do sleep 0.05; done; echo; echo end"
    conversation = start(reporting, scripted_llm, tmp_path, command)

    with watch(reporting, f"session/{conversation}?after_seq=0") as socket:
        (shown,) = outputs_until(socket, prints("two"))[-1]
    with watch(reporting, f"session/{conversation}") as late:
        (told_late,) = outputs_until(late, prints("two"))[0]
    wait_until(lambda: any(p["type"] == "output" and prints("two")(p["outputs"]) for p in receiver.pieces))
    go_on.touch()
    wait_until(lambda: status_of(reporting, conversation) == "finished")

    action, observation = (
        event
        for event in reporting.events(conversation)
        if event["kind"] in {"ActionEvent", "ObservationEvent"}
    )
    assert shown == told_late == {"action_id": action["id"], "text": "one\ntwo", "styles": [[4, 7, "31"]]}
    assert observation["observation"]["content"][0]["text"] == "one\ntwo\nend"
    assert observation["observation"]["metadata"]["styles"] == [[4, 7, "31"]]
    assert "\x1b" not in json.dumps(scripted_llm.requests[-1].body).replace("\\u001b", "\x1b")
    assert "styles" not in json.dumps(scripted_llm.requests[-1].body)
    wait_until(lambda: [p for p in receiver.pieces if p["type"] == "output"][-1]["outputs"] == [])


def test_a_secret_that_comes_in_pieces_is_never_seen(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    go_on = tmp_path / "go-on"
    command = (
        rf"printf 'begin \033[32m{SECRET[:9]}'; until [ -e {go_on} ]; do sleep 0.05; done; "
        rf"printf '\033[31m{SECRET[9:]}\033[0m end\n'; until [ -e {go_on}-again ]; do sleep 0.05; done"
    )
    conversation = start(server, scripted_llm, tmp_path, command, secrets={"TOKEN": SECRET})

    with watch(server, f"session/{conversation}?after_seq=0") as socket:
        before = outputs_until(socket, prints("begin"))
        go_on.touch()
        after = outputs_until(socket, prints("end"))
        (tmp_path / "go-on-again").touch()

    texts = [one["text"] for outputs in before + after for one in outputs]
    assert before[-1][0]["text"] == "begin "
    assert texts[-1].startswith("begin <secret-hidden> end")
    assert not [text for text in texts if "correct" in text or "battery" in text]


def test_a_flood_is_seen_at_a_bounded_rate_and_size(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    command = "for i in $(seq 1 40); do seq 1 2000; sleep 0.05; done; echo the last one; sleep 1"
    conversation = start(server, scripted_llm, tmp_path, command)

    with watch(server, f"session/{conversation}?after_seq=0") as socket:
        outputs_until(socket, lambda outputs: True)
        began = time.monotonic()
        seen = outputs_until(socket, prints("the last one"))
        took = time.monotonic() - began

    # At most four frames a second are sent. On a busy machine, delayed frames arrive together, so four more
    # are allowed.
    assert 1 < len(seen) <= 4 * took + 4
    assert all(len(one["text"]) <= 12_000 for outputs in seen for one in outputs)
