"""Tests of the WebSocket for shell commands, which sends the output while a command runs."""

import json
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.support.agent_server import KEY, AgentServer
from tests.support.patience import PATIENCE_SECONDS


def opened(server: AgentServer, query: str = "", **options: Any) -> ClientConnection:
    url = f"{server.ws_url}/sockets/bash-events{query}"
    return connect(
        url, additional_headers={"X-Session-API-Key": KEY}, **options, open_timeout=PATIENCE_SECONDS
    )


def received(socket: ClientConnection) -> dict[str, Any]:
    return dict(json.loads(socket.recv(timeout=PATIENCE_SECONDS)))


def test_output_comes_while_the_command_still_runs(own_server: AgentServer):
    # A separate server: on a shared one, the end of the text could look like the start of another test's
    # secret and be held back.
    own_server.start()
    with opened(own_server) as socket:
        socket.send(json.dumps({"command": "echo 'für dich'; read -r _ < <(sleep 30)"}))
        command = received(socket)
        piece = received(socket)
        own_server.call("POST", f"/api/bash/bash_commands/{command['id']}/stop")
        last = received(socket)

    assert (command["kind"], piece["stdout"], last["exit_code"]) == ("BashCommand", "für dich\n", -1)
    assert "exit_code" not in piece
    # A second stop succeeds, because the command has ended.
    assert own_server.call("POST", f"/api/bash/bash_commands/{command['id']}/stop") == {"success": True}


def test_what_was_before_is_sent_again_if_asked_for(server: AgentServer):
    done = server.call("POST", "/api/bash/execute_bash_command", json={"command": "echo before"})

    with opened(server, "?resend_mode=all") as socket:
        while received(socket).get("command_id") != done["command_id"]:
            pass


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("no json", "validation_failed"),
        ("[]", "validation_failed"),
        (json.dumps({"command": "true", "cwd": "/nowhere"}), "directory_not_found"),
    ],
)
def test_an_invalid_frame_is_answered_and_the_socket_stays_open(server: AgentServer, frame: str, code: str):
    with opened(server) as socket:
        socket.send(frame)
        assert received(socket)["code"] == code
        socket.send(json.dumps({"command": "echo on"}))
        assert received(socket)["kind"] == "BashCommand"
        # The test reads up to the end of the command. Otherwise the next test would receive the rest.
        while "exit_code" not in received(socket):
            pass


def test_without_a_key_it_is_closed(server: AgentServer):
    with connect(
        f"{server.ws_url}/sockets/bash-events?session_api_key=wrong", open_timeout=PATIENCE_SECONDS
    ) as socket:
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=PATIENCE_SECONDS)
        assert socket.close_code == 4001


def read_all(socket: ClientConnection) -> None:
    while True:
        received(socket)


def test_a_reader_that_does_not_read_is_disconnected_and_delays_no_other_reader(server: AgentServer):
    # One command has as many pieces as the server keeps of a command. All commands have more than may wait
    # for a reader.
    command = {"command": "head -c 8000000 /dev/zero | tr '\\0' x"}
    with opened(server, max_size=None, max_queue=1, ping_interval=None) as deaf, opened(server) as keen:
        for _ in range(9):
            server.call("POST", "/api/bash/execute_bash_command", json=command)
            while "exit_code" not in received(keen):
                pass

        with pytest.raises(ConnectionClosed):
            read_all(deaf)

    # 1011 comes on a slow machine, if the missing answer to a ping is noticed first.
    assert deaf.close_code in {1013, 1011}
