"""Tests of the answers of `slipway sandbox-host` (docs/sandbox-service.md), with the Docker engine of this
machine.
"""

import io
import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from agent_runtime.wire import API_KEY_HEADER
from app_server.sandbox_backends.remote.wire import INSTALLATION_HEADER, TOKEN_HEADER
from tests.app_server.problems import assert_problem
from tests.app_server.sandbox_host.conftest import Host, command
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port
from tests.support.server import wait_until

pytestmark = pytest.mark.docker

UNKNOWN = "5f0c3d6e-8a52-4c4b-9c3e-2f6d1b7a9e10"
KEY = "the-session-key-of-this-sandbox-0123456789"


@pytest.fixture
def sandbox(host: Host) -> Iterator[str]:
    sandbox_id = str(uuid4())
    with host.client() as client:
        assert "machine" in start(client, sandbox_id)[-1]
        yield sandbox_id
        client.delete(f"/sandboxes/{sandbox_id}").raise_for_status()


def start(client: httpx.Client, sandbox_id: str) -> list[dict[str, Any]]:
    reply = client.put(f"/sandboxes/{sandbox_id}", json={"session_key": KEY}).raise_for_status()
    return [json.loads(line) for line in reply.text.splitlines()]


def state(client: httpx.Client, sandbox_id: str) -> str | None:
    found = client.get("/sandboxes").raise_for_status().json()
    return next((each["state"] for each in found if each["id"] == sandbox_id), None)


def files_of(content: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        return {
            member.name: file.read() for member in tar if member.isreg() and (file := tar.extractfile(member))
        }


@pytest.mark.parametrize("token", ["", "wrong"])
@pytest.mark.parametrize("path", ["/info", "/sandboxes", f"/sandboxes/{UNKNOWN}/agent/health", "/none"])
def test_requests_without_the_token_are_refused(host: Host, token: str, path: str) -> None:
    with host.client(token) as stranger:
        assert_problem(stranger.get(path), 401, "not_authenticated")
    for place in ("tunnel", f"sandboxes/{uuid4()}/agent/sockets/events/{uuid4()}"):
        with pytest.raises(InvalidStatus) as refused:
            connect(f"ws://127.0.0.1:{host.port}/v1/{place}", additional_headers={TOKEN_HEADER: token})
        assert refused.value.response.status_code == 403


def test_a_host_works_for_the_app_server_that_came_first(host: Host) -> None:
    with host.client(**{INSTALLATION_HEADER: "first"}) as first:
        assert first.get("/info").raise_for_status().json()["protocol"] == 1
    with host.client(**{INSTALLATION_HEADER: "second"}) as second:
        assert_problem(second.get("/info"), 409, "host_of_another_server")


def test_a_sandbox_is_reached_through_its_host_alone(host: Host, sandbox: str) -> None:
    with host.client() as client:
        agent = f"/sandboxes/{sandbox}/agent"
        wait_until(lambda: client.get(f"{agent}/health").is_success, lambda: "the agent server")
        assert client.get(f"{agent}/api/conversations/search").status_code == 401, "it asks for its own key"
        opened = client.get(f"{agent}/api/conversations/search", headers={API_KEY_HEADER: KEY})
        assert opened.json()["items"] == []
        assert_problem(client.get(f"/sandboxes/{uuid4()}/agent/health"), 502, "agent_server_error")


def test_a_sandbox_is_halted_let_go_on_and_ended(host: Host, sandbox: str) -> None:
    with host.client() as client:
        assert state(client, sandbox) == "running"
        client.post(f"/sandboxes/{sandbox}/freeze").raise_for_status()
        assert state(client, sandbox) == "halted"
        start(client, sandbox)
        assert state(client, sandbox) == "running"
        client.post(f"/sandboxes/{sandbox}/stop").raise_for_status()
        assert state(client, sandbox) == "stopped"
        words = client.get(f"/sandboxes/{sandbox}/last-words").raise_for_status().json()
        assert words["code"] == "agent_server_ended"
        client.delete(f"/sandboxes/{sandbox}").raise_for_status()
        assert state(client, sandbox) is None


def test_a_workspace_travels(host: Host, sandbox: str) -> None:
    elsewhere = f"/sandboxes/{uuid4()}"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in (("project", None), ("project/notes", b"mine" * 100_000)):
            member = tarfile.TarInfo(name)
            member.type, member.mode = (tarfile.REGTYPE, 0o644) if content else (tarfile.DIRTYPE, 0o755)
            member.size = len(content or b"")
            tar.addfile(member, io.BytesIO(content or b""))
    with host.client() as client:
        client.put(f"{elsewhere}/workspace", content=buffer.getvalue()).raise_for_status()
        reply = client.get(f"{elsewhere}/workspace", params={"part": "project"}).raise_for_status()
        assert files_of(reply.content)["project/notes"] == b"mine" * 100_000
        client.delete(elsewhere).raise_for_status()
        assert_problem(client.get(f"{elsewhere}/workspace"), 503, "workspace_missing")


def test_sandboxes_of_others_on_the_same_engine_are_left_alone(
    host: Host, sandbox: str, tmp_path: Path
) -> None:
    ports = {"SLIPWAY_SANDBOX_HOST_PORT": str(free_port()), "SLIPWAY_INNER_PORT": str(free_port())}
    neighbour_home, log = tmp_path / "home", tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(**command(neighbour_home, **ports), stdout=output, stderr=output)
    try:
        wait_until(lambda: "is ready" in log.read_text(), log.read_text)
        token = (neighbour_home / "host-token").read_text().strip()
        with Host(int(ports["SLIPWAY_SANDBOX_HOST_PORT"]), token).client() as neighbour:
            assert neighbour.get("/sandboxes").json() == []
            neighbour.delete(f"/sandboxes/{sandbox}").raise_for_status()
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_SECONDS)
    with host.client() as client:
        assert state(client, sandbox) == "running"


def test_it_does_not_speak_plain_http_to_a_network(tmp_path: Path) -> None:
    done = subprocess.run(
        **command(tmp_path / "home", SLIPWAY_HOST="0.0.0.0"),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )

    assert done.returncode == 2
    assert "SLIPWAY_SANDBOX_HOST_CERTIFICATE" in done.stderr
