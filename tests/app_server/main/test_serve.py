"""Tests of `slipway serve` with a real process, real ports and real signals."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port
from tests.support.signed_in import sign_in

get = partial(httpx.get, timeout=PATIENCE_SECONDS)
post = partial(httpx.post, timeout=PATIENCE_SECONDS)


@dataclass(frozen=True)
class Server:
    """A running server: its process, the text that it printed when it was ready, its home directory and its
    ports.
    """

    process: subprocess.Popen[str]
    banner: str
    home: Path
    port: int
    inner_port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return self.banner.split("/sign-in#token=")[1].split()[0]

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_SECONDS)


def slipway(home: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLIPWAY_")}
    return subprocess.Popen(
        [sys.executable, "-m", "app_server", *arguments],
        env={**environment, "SLIPWAY_HOME": str(home), "SLIPWAY_SANDBOX": "process"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def serving(home: Path) -> Iterator[Server]:
    port, inner_port = free_port(), free_port()
    process = slipway(home, "serve", "--port", str(port), "--inner-port", str(inner_port))
    assert process.stdout is not None
    banner = ""
    try:
        while "#token=" not in banner and "slipway sign-in-link" not in banner:
            line = process.stdout.readline()
            assert line, process.stderr and process.stderr.read()
            banner += line
        yield Server(process, banner, home, port, inner_port)
    finally:
        process.kill()
        process.communicate()


@contextmanager
def signed_in(server: Server) -> Iterator[httpx.Client]:
    """Yields the HTTP client of a browser that has signed in with the link from the terminal. Its base URL
    is /api/v1 of the server.
    """
    with httpx.Client(
        base_url=server.url, headers={"Origin": server.url}, timeout=PATIENCE_SECONDS
    ) as browser:
        sign_in(browser, server.token)
        browser.base_url = httpx.URL(f"{server.url}/api/v1")
        yield browser


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "home") as running:
        yield running


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yields a running server that all tests of this module share. They must not change it."""
    with serving(tmp_path_factory.mktemp("serve") / "home") as running:
        yield running


def test_it_prints_one_link_that_signs_in(server: Server) -> None:
    links = re.findall(r"^http://localhost:\d+/sign-in#token=\S+$", server.banner, re.MULTILINE)
    assert len(links) == 1
    assert f":{server.port}/" in links[0]
    with signed_in(server) as browser:
        assert browser.get("/users/me").json()["role"] == "owner"


def test_it_warns_when_sandboxes_are_not_isolated(lasting: Server) -> None:
    warning = get(f"{lasting.url}/api/v1/web-client/config").json()["sandbox"]["warning"]
    assert warning in lasting.banner


def test_localhost_means_us_on_both_loopback_addresses(lasting: Server) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    assert get(f"http://[::1]:{lasting.port}/health").json() == "OK"


def test_what_it_keeps_is_for_its_user_only(lasting: Server) -> None:
    def mode(path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    assert mode(lasting.home) == 0o700
    for file in lasting.home.glob("*"):
        if file.is_file() and (file.name.startswith("slipway.sqlite3") or file.name == "encryption.key"):
            assert mode(file) == 0o600, file


def test_it_says_where_it_is_as_long_as_it_runs(server: Server) -> None:
    told = json.loads((server.home / "server.json").read_text())
    assert told == {"url": server.url, "pid": server.process.pid}
    assert server.stop() == 0
    assert not (server.home / "server.json").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(server: Server, number: int) -> None:
    assert server.stop(number) == 0
    assert server.process.stderr is not None
    assert "Traceback" not in server.process.stderr.read()


def test_sandboxes_have_a_separate_listener(lasting: Server) -> None:
    assert get(f"http://127.0.0.1:{lasting.inner_port}/health").json() == {"status": "ok"}
    assert get(f"http://127.0.0.1:{lasting.inner_port}/api/v1/users/me").status_code == 404


def test_no_reply_waits_for_the_acknowledgement_of_its_head(lasting: Server) -> None:
    """Without the option TCP_NODELAY, Linux delays the second of two small writes by up to 40 ms."""
    for port in (lasting.port, lasting.inner_port):
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS) as client:
            taken = [client.get("/health").elapsed.total_seconds() for _ in range(60)]
        # A new connection is acknowledged at once for a while, so only the last replies count.
        assert min(taken[40:]) < 0.035


@pytest.mark.parametrize("option", ["--port", "--inner-port"])
def test_a_taken_port_is_one_sentence(tmp_path: Path, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = str(taken.getsockname()[1])
        ports = {"--port": str(free_port()), "--inner-port": str(free_port()), option: number}
        arguments = [word for pair in ports.items() for word in pair]
        process = slipway(tmp_path / "home", "serve", *arguments)
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 2
    assert output == ""
    assert len(errors.strip().splitlines()) == 1
    assert number in errors
    assert option in errors
    assert f"SLIPWAY_{option.strip('-').replace('-', '_').upper()}" in errors
    assert not (tmp_path / "home").exists()


def test_a_home_has_one_server(lasting: Server) -> None:
    ports = ("--port", str(free_port()), "--inner-port", str(free_port()))
    process = slipway(lasting.home, "serve", *ports)
    output, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 2
    assert output == ""
    assert len(errors.strip().splitlines()) == 1
    assert str(lasting.home) in errors
    assert "SLIPWAY_HOME" in errors
    assert json.loads((lasting.home / "server.json").read_text())["pid"] == lasting.process.pid


def test_a_wrong_variable_is_one_sentence(tmp_path: Path) -> None:
    process = slipway(tmp_path / "home", "serve", "--port", "99999")
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 2
    assert "SLIPWAY_PORT" in errors
    assert "Traceback" not in errors


def test_a_new_link_can_be_asked_for_while_it_runs(server: Server) -> None:
    process = slipway(server.home, "sign-in-link", "--port", str(server.port))
    output, _ = process.communicate(timeout=PATIENCE_SECONDS)
    token = output.split("#token=")[1].strip()
    assert token != server.token
    reply = post(f"{server.url}/api/v1/sign-in/link", json={"token": token})
    assert reply.status_code == 200


def test_a_link_without_a_server_says_what_to_do(tmp_path: Path) -> None:
    process = slipway(tmp_path / "home", "sign-in-link")
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 2
    assert "slipway serve" in errors
    assert "Traceback" not in errors
    assert not (tmp_path / "home").exists()


def test_a_second_start_keeps_users_and_sessions(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as first, signed_in(first) as browser:
        me = browser.get("/users/me").json()
    with serving(tmp_path / "home") as second:
        browser = httpx.Client(cookies=browser.cookies, headers=browser.headers, timeout=PATIENCE_SECONDS)
        with browser:
            assert browser.get(f"{second.url}/api/v1/users/me").json() == me


def test_a_link_is_printed_until_the_first_sign_in(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as unused:
        assert unused.stop() == 0
    with serving(tmp_path / "home") as second, signed_in(second):
        assert second.token != unused.token
    with serving(tmp_path / "home") as third:
        assert "#token=" not in third.banner
        assert "slipway sign-in-link" in third.banner


def test_heavy_libraries_stay_off_the_start_path() -> None:
    code = "import sys, app_server.main, app_server.serve; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    heavy = {"litellm", "openai", "fastmcp", "mcp", "docker", "alembic", "playwright", "redis"}
    assert heavy.isdisjoint(loaded.split())


def test_an_open_stream_is_told_to_come_back(server: Server) -> None:
    with signed_in(server) as client:
        key = client.post("/api-keys", json={"name": "stream"}).json()["key"]
        conversation_id = client.post("/app-conversations", json={}).json()["id"]
    stream = f"ws://127.0.0.1:{server.port}/api/v1/conversation/{conversation_id}/events/stream"
    headers = {"Authorization": f"Bearer {key}"}
    with connect(stream, additional_headers=headers, open_timeout=PATIENCE_SECONDS) as opened:
        assert json.loads(opened.recv())["type"] == "sync"
        server.process.send_signal(signal.SIGTERM)
        assert _close_code(opened) == 1012
    assert server.process.wait(PATIENCE_SECONDS) == 0


def _close_code(connection: ClientConnection) -> int | None:
    """Reads the WebSocket until it is closed. Returns the close code, or None if the server sent none."""
    try:
        while True:
            connection.recv(timeout=PATIENCE_SECONDS)
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else None
