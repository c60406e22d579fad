"""Tests of the WebSocket that shows a terminal to a person: a bash that stays when the person leaves."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from agent_runtime.server.terminals.user_terminal import MAX_RECENT_BYTES
from tests.agent_runtime.server.conftest import start_request
from tests.support.agent_server import KEY, AgentServer
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM
from tests.support.server import wait_until

Open = Callable[[], ClientConnection]


@pytest.fixture
def conversation_id(server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path) -> str:
    made: dict[str, Any] = server.call(
        "POST", "/api/conversations", json=start_request(scripted_llm, tmp_path)
    )
    return str(made["id"])


@pytest.fixture
def opened(server: AgentServer, conversation_id: str) -> Open:
    return lambda: opened_at(server, conversation_id)


def opened_at(server: AgentServer, conversation_id: str, key: str = KEY) -> ClientConnection:
    url = f"{server.ws_url}/sockets/terminal/{conversation_id}"
    return connect(url, additional_headers={"X-Session-API-Key": key}, open_timeout=PATIENCE_SECONDS)


def read_until(socket: ClientConnection, text: str) -> str:
    """Reads the terminal's output until it contains `text`, and returns it."""
    output = ""
    while text not in output:
        piece = socket.recv(timeout=PATIENCE_SECONDS)
        assert isinstance(piece, bytes), piece
        output += piece.decode(errors="replace")
    return output


def until_closed(socket: ClientConnection) -> list[str | bytes]:
    """Returns all messages until the server closes the socket."""
    messages = []
    with suppress(ConnectionClosed):
        while True:
            messages.append(socket.recv(timeout=PATIENCE_SECONDS))
    return messages


def run(socket: ClientConnection, command: str, until: str) -> str:
    socket.send(f"{command}\r".encode())
    return read_until(socket, until)


def test_a_person_types_and_sees_the_output(opened: Open, tmp_path: Path) -> None:
    with opened() as socket:
        output = run(socket, "echo $((6*7)) at $PWD", f"42 at {tmp_path}")
        assert "echo $((6*7))" in output, "what is typed is shown"
        run(socket, "cat", "cat\r\n")
        socket.send(b"\x03")
        run(socket, "echo interrupted-$?", "interrupted-130")


def test_the_program_in_it_gets_the_size_of_the_page(opened: Open) -> None:
    with opened() as socket:
        run(socket, "trap 'echo size=$(stty size)' WINCH; echo set-$((1))", "set-1")
        socket.send(json.dumps({"type": "resize", "columns": 111, "rows": 33}))
        read_until(socket, "size=33 111")


def test_it_holds_no_key_of_the_agent_server(opened: Open) -> None:
    with opened() as socket:
        output = run(socket, "env; tr '\\0' '\\n' </proc/$PPID/environ; echo all-$((1))", "all-1")
    assert KEY not in output


def test_the_shell_stays_and_shows_its_last_output_again(opened: Open) -> None:
    with opened() as socket:
        run(socket, "mark=here; echo left-$((1))", "left-1")
        lines = MAX_RECENT_BYTES // 8 * 2
        run(socket, f"seq -f line-%07.0f {lines}; echo many-$((1))", "many-1")
    with opened() as socket:
        again = read_until(socket, "many-1")
        assert "left-1" not in again
        assert f"line-{lines:07}" in again
        run(socket, "echo still-$mark", "still-here")


def test_two_viewers_share_it(opened: Open) -> None:
    with opened() as first, opened() as second:
        first.send(b"echo from-$((1))\r")
        read_until(first, "from-1")
        read_until(second, "from-1")
        second.send(b"echo back-$((2))\r")
        read_until(first, "back-2")


def test_its_end_is_told_and_the_next_one_is_new(opened: Open) -> None:
    with opened() as socket:
        run(socket, "mark=here; echo set-$((1))", "set-1")
        socket.send(b"exit 7\r")
        *_, last = until_closed(socket)
        assert json.loads(last) == {"type": "ended", "exit_code": 7}
        assert socket.close_code == 1000
    with opened() as socket:
        run(socket, "echo new-$mark.", "new-.")


def test_a_viewer_that_does_not_read_does_not_fill_the_memory(
    opened: Open, server: AgentServer, tmp_path: Path
) -> None:
    with opened() as socket:
        socket.send(b"yes | head -c 100000000; touch done\r")
        # The server holds the program up while nothing is read.
        with opened() as other:
            assert len(other.recv(timeout=PATIENCE_SECONDS)) <= MAX_RECENT_BYTES + (1 << 16)
        assert not (tmp_path / "done").exists()


def test_its_programs_end_with_the_conversation(
    opened: Open, server: AgentServer, conversation_id: str, tmp_path: Path
) -> None:
    with opened() as socket:
        output = run(socket, "nohup sleep 600 2>/dev/null & echo program-$!.", "program-")
        while (found := re.search(r"program-(\d+)\.", output)) is None:
            output += read_until(socket, ".")
        program = Path("/proc", found[1])
        assert program.exists()
        server.call("DELETE", f"/api/conversations/{conversation_id}")
        until_closed(socket)
    wait_until(lambda: not program.exists(), lambda: f"the end of {program}")


def test_what_is_wrong_is_told(opened: Open, server: AgentServer, conversation_id: str) -> None:
    for socket, code in (
        (opened_at(server, conversation_id, "wrong"), 4001),
        (opened_at(server, uuid4().hex), 4004),
    ):
        with socket:
            until_closed(socket)
        assert socket.close_code == code
    for message in ("no json", '{"type": "resize", "columns": 0, "rows": 5}', '{"type": "other"}'):
        with opened() as socket:
            socket.send(message)
            until_closed(socket)
        assert socket.close_code == 1007, message
