"""The app servers and agent servers that tests fork are separate processes, as if started by a command."""

import fcntl
import os
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.support.agent_server import KEY, AgentServer
from tests.support.forked_agents import ForkedAgentServer
from tests.support.forking import NurseryEndedError, can_fork, nursery_of
from tests.support.patience import PATIENCE_SECONDS
from tests.support.server import AppServerProcess


def test_a_forked_server_is_a_separate_process(tmp_path: Path) -> None:
    first = AppServerProcess(tmp_path / "first", sandbox="process")
    with first:
        assert first.pid != os.getpid()
        assert os.getpgid(first.pid) == os.getpgid(0), "as that of a command: Ctrl-C reaches both"
        assert (tmp_path / "first" / "slipway.sqlite3").exists()
        assert "Slipway is ready" in first.output()

        earlier = first.pid
        first.kill()
        with pytest.raises(ProcessLookupError):
            os.kill(earlier, 0)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{first.url}/health")
        first.start()
        assert first.pid != earlier
        assert httpx.get(f"{first.url}/health").is_success


def test_a_server_that_refuses_to_start_says_so_and_ends(tmp_path: Path) -> None:
    server = AppServerProcess(
        tmp_path / "home", sandbox="process", environment={"SLIPWAY_DATABASE_URL": "nothing"}
    )
    with pytest.raises(AssertionError, match="ended with 2"):
        server.start()


def test_what_an_interpreter_reads_at_its_start_needs_a_new_one() -> None:
    assert can_fork({**os.environ, "SLIPWAY_HOME": "/elsewhere"})
    assert not can_fork({**os.environ, "PYTHONDEVMODE": "1"})
    assert not can_fork({**os.environ, "LD_PRELOAD": "/a.so"})


def test_an_interpreter_that_is_named_is_used(tmp_path: Path) -> None:
    with AppServerProcess(tmp_path / "home", sandbox="process", python=(sys.executable,)) as server:
        assert b"-m\0app_server\0serve" in Path(f"/proc/{server.pid}/cmdline").read_bytes()


def test_a_process_that_forks_and_has_ended_says_why_and_is_replaced() -> None:
    ended = nursery_of("no_such_module")
    with pytest.raises(NurseryEndedError, match=r"(?s)ended with 1:.*No module named no_such_module"):
        ended.code_of(1)
    assert nursery_of("no_such_module") is not ended


def test_many_threads_wait_for_one_forked_server(tmp_path: Path) -> None:
    server = AgentServer(tmp_path)
    server.start()
    assert server.process is not None
    with ThreadPoolExecutor(16) as threads:
        codes = [threads.submit(server.process.wait, PATIENCE_SECONDS) for _ in range(16)]
        server.process.send_signal(signal.SIGKILL)
        assert {code.result() for code in codes} == {-signal.SIGKILL}


def test_a_forked_agent_server_is_a_separate_process_with_its_key_and_log(tmp_path: Path) -> None:
    server = AgentServer(tmp_path)
    server.start()
    assert server.process is not None
    first = server.process.pid
    assert httpx.get(f"{server.url}/api/ports", headers={"X-Session-API-Key": KEY}).is_success
    assert httpx.get(f"{server.url}/api/ports").status_code == httpx.codes.UNAUTHORIZED
    assert "forked_agents" in Path(f"/proc/{first}/cmdline").read_text()

    server.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    server.start()
    assert server.process.pid != first
    server.stop()
    assert "Application startup complete" in server.log_text()


def test_an_agent_server_of_a_named_interpreter_is_not_forked(tmp_path: Path) -> None:
    server = AgentServer(tmp_path, python=sys.executable)
    server.start()
    assert server.process is not None
    assert b"-m\0agent_runtime.server" in Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
    server.stop()


def test_a_socket_with_a_large_number_keeps_it_in_what_is_forked(tmp_path: Path) -> None:
    largest = 503  # the fourth number from 500; files were once moved to these numbers meanwhile
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        (tmp_path / "log").open("wb") as log,
        os.fdopen(fcntl.fcntl(server, fcntl.F_DUPFD_CLOEXEC, largest)) as listener,
    ):
        files = {0: log.fileno(), 1: log.fileno(), 2: log.fileno(), listener.fileno(): listener.fileno()}
        agent = ForkedAgentServer(["--fd", str(listener.fileno())], {**os.environ}, files)
        try:
            port = server.getsockname()[1]
            assert httpx.get(f"http://127.0.0.1:{port}/health", timeout=PATIENCE_SECONDS).is_success
        finally:
            agent.kill()
            agent.wait()
