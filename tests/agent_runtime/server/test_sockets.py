"""Tests of the WebSockets that send the events of a conversation."""

import json
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.agent_runtime.server.conftest import message, start_request, status_of, wait_until
from tests.support.agent_server import KEY, AgentServer
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, calls, hold, say


def watch(server: AgentServer, path: str, key: str | None = KEY) -> ClientConnection:
    headers = {"X-Session-API-Key": key} if key else {}
    # max_queue=None: with a limit, an early close waits until all frames in the queue are read.
    return connect(
        f"{server.ws_url}/sockets/{path}",
        additional_headers=headers,
        max_queue=None,
        open_timeout=PATIENCE_SECONDS,
    )


def receive(socket: ClientConnection) -> dict[str, Any]:
    frame: dict[str, Any] = json.loads(socket.recv(timeout=PATIENCE_SECONDS))
    return frame


def create(server: AgentServer, llm: ScriptedLLM, path: Path, text: str | None = None) -> str:
    return str(server.call("POST", "/api/conversations", json=start_request(llm, path, text))["id"])


def is_over(event: dict[str, Any]) -> bool:
    return event.get("key") == "full_state" and event["value"]["execution_status"] != "running"


def test_the_event_stream_begins_and_ends_with_the_full_state(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(say("Hello there."))
    conversation = create(server, scripted_llm, tmp_path)

    with watch(server, f"events/{conversation}") as socket:
        # The full state comes once, because no stored events are resent.
        assert receive(socket)["key"] == "full_state"
        socket.send(json.dumps(message("Hi.")))
        seen = [receive(socket)]
        while not is_over(seen[-1]):
            seen.append(receive(socket))

    kinds = [event["kind"] for event in seen]
    assert kinds[:2] == ["SystemPromptEvent", "MessageEvent"]
    assert "StreamingDeltaEvent" in kinds
    assert seen[-2]["value"] == "finished"
    assert seen[-1]["value"]["execution_status"] == "finished"


def test_stored_events_are_sent_again_when_asked_for(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(say("Hello."))
    conversation = create(server, scripted_llm, tmp_path, "Hi.")
    wait_until(lambda: status_of(server, conversation) == "finished")
    log = server.events(conversation)

    with watch(server, f"events/{conversation}?resend_mode=all") as socket:
        frames = [receive(socket) for _ in range(len(log) + 2)]
    since = f"events/{conversation}?resend_mode=since&after_timestamp={log[2]['timestamp']}"
    with watch(server, since) as socket:
        later = [receive(socket) for _ in range(len(log))]

    assert frames[1:-1] == log
    assert later[1:-1] == log[2:]


def test_the_key_may_come_in_the_first_frame(server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path):
    conversation = create(server, scripted_llm, tmp_path)

    with watch(server, f"events/{conversation}", key=None) as socket:
        socket.send(json.dumps({"type": "auth", "session_api_key": KEY}))
        assert receive(socket)["key"] == "full_state"


@pytest.mark.parametrize(
    "frame", ['{"type": "auth", "session_api_key": "wrong"}', "{", "[]", '{"type": "x"}']
)
def test_a_wrong_key_closes_with_4001(server: AgentServer, frame: str):
    with watch(server, "session/0f8fad5b-d9cb-469f-a165-70867728950e", key=None) as socket:
        socket.send(frame)
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=PATIENCE_SECONDS)
    assert socket.protocol.close_code == 4001


@pytest.mark.parametrize("name", ["events", "session"])
@pytest.mark.parametrize("conversation", ["0f8fad5b-d9cb-469f-a165-70867728950e", "nonsense"])
def test_an_unknown_conversation_closes_with_4004(server: AgentServer, name: str, conversation: str):
    with watch(server, f"{name}/{conversation}") as socket, pytest.raises(ConnectionClosed):
        socket.recv(timeout=PATIENCE_SECONDS)
    assert socket.protocol.close_code == 4004


def test_deleting_a_conversation_closes_its_watchers_with_4004(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    conversation = create(server, scripted_llm, tmp_path)

    with watch(server, f"events/{conversation}") as socket:
        receive(socket)
        server.call("DELETE", f"/api/conversations/{conversation}")
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=PATIENCE_SECONDS)
    assert socket.protocol.close_code == 4004


@pytest.mark.parametrize("frame", ["{", '{"role": "nobody"}', '{"role": "user", "content": "canary"}', "7"])
def test_an_invalid_frame_is_answered_and_the_socket_stays_open(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, frame: str
):
    conversation = create(server, scripted_llm, tmp_path)

    with watch(server, f"events/{conversation}") as socket:
        receive(socket)
        socket.send(frame)
        answer = receive(socket)
        socket.send(json.dumps({"type": "auth", "session_api_key": KEY}))
        socket.send(frame)
        assert receive(socket)["kind"] == "ServerErrorEvent"

    assert answer["kind"] == "ServerErrorEvent"
    assert "canary" not in json.dumps(answer)


def test_the_session_stream_covers_the_log_and_goes_on_live(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    last = hold(say("Now live."))
    scripted_llm.script(calls(("think", {"thought": "x"})), last)
    conversation = create(server, scripted_llm, tmp_path, "Go.")
    wait_until(lambda: len(scripted_llm.requests) == 2)

    with watch(server, f"session/{conversation}?after_seq=2") as socket:
        sync = receive(socket)
        last.release()
        frames = [receive(socket)]
        while not _tells_an_end(frames[-1]):
            frames.append(receive(socket))

    durable = [frame for frame in frames if frame["type"] == "durable"]
    assert sync["from_seq"] == 3
    assert [frame["seq"] for frame in durable] == list(range(3, durable[-1]["seq"] + 1))
    assert [frame["event"] for frame in durable] == server.events(conversation)[2:]
    types = [frame["type"] for frame in frames[sync["through_seq"] - 2 :]]
    assert types[:3] == ["transient", "item_started", "delta"]


def test_a_reader_that_reconnects_a_hundred_times_sees_the_log_once_and_in_order(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(*(calls(("think", {"thought": str(n)})) for n in range(35)), say("done"))
    conversation = create(server, scripted_llm, tmp_path, "Think a lot.")
    seen: list[dict[str, Any]] = []
    connections = 0

    while not seen or seen[-1]["event"].get("value") != "finished":
        connections += 1
        with watch(server, f"session/{conversation}?after_seq={len(seen)}") as socket:
            seen.append(next_durable(socket))

    assert connections >= 100
    assert [frame["seq"] for frame in seen] == list(range(1, len(seen) + 1))
    assert [frame["event"] for frame in seen] == server.events(conversation)


def next_durable(socket: ClientConnection) -> dict[str, Any]:
    while True:
        frame = receive(socket)
        if frame["type"] == "durable":
            return frame


def _tells_an_end(frame: dict[str, Any]) -> bool:
    return frame["type"] == "transient" and frame["event"]["value"]["execution_status"] != "running"
