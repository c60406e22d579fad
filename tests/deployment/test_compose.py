"""Tests of `docker-compose.yml`: build, a task of an agent, killed services, and the limits of the app
server.
"""

import io
import json
import os
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.support.patience import BUILD_PATIENCE_SECONDS, PATIENCE_SECONDS
from tests.support.ports import free_port
from tests.support.requirements import need_program
from tests.support.server import (
    conversation,
    events,
    start_conversation,
    start_task,
    wait_for_status,
    wait_until,
)
from tests.support.signed_in import sign_in

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.docker, pytest.mark.timeout(2 * BUILD_PATIENCE_SECONDS)]


@dataclass
class Deployment:
    """A project of docker-compose. Its name, port and network are unique, so it disturbs nothing on this
    machine.
    """

    folder: Path
    project: str = field(default_factory=lambda: f"slipway-test-{uuid4().hex[:8]}")
    port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        third = int(self.project[-2:], 16)
        settings = self.folder / "settings.env"
        settings.write_text(f"SLIPWAY_PUBLIC_URL={self.url}\nSLIPWAY_INNER_PORT={free_port()}\n")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SLIPWAY_")},
            "COMPOSE_PROJECT_NAME": self.project,
            "SLIPWAY_BIND": f"127.0.0.1:{self.port}",
            "SLIPWAY_SUBNET": f"172.31.{third}.0/24",
            "SLIPWAY_GATEWAY": f"172.31.{third}.1",
            "SLIPWAY_SANDBOX_FLAVOUR": "slim",
            "SLIPWAY_SETTINGS_FILE": str(settings),
        }

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def compose(self, *arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            ["docker-compose", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=BUILD_PATIENCE_SECONDS,
        )
        assert not check or done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done

    def slipway(self, *arguments: str) -> str:
        return self.compose("exec", "-T", "app", "slipway", *arguments).stdout

    def is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/ready").is_success
        except httpx.TransportError:
            return False

    def wait_until_ready(self) -> None:
        wait_until(self.is_ready, lambda: self.compose("logs", "--tail", "60", check=False).stdout)

    def key(self) -> str:
        with httpx.Client(
            base_url=self.url, headers={"Origin": self.url}, timeout=PATIENCE_SECONDS
        ) as browser:
            sign_in(browser, self.slipway("sign-in-link").strip().partition("#token=")[2])
            made = browser.post("/api/v1/api-keys", json={"name": "tests"}).raise_for_status()
            return str(made.json()["key"])


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    need_program("docker-compose")
    deployment = Deployment(tmp_path)
    with ExitStack() as stack:
        stack.callback(deployment.compose, "down", "--volumes", "--timeout", "5", check=False)
        deployment.compose("build", "--quiet")
        deployment.compose("up", "--detach")
        deployment.wait_until_ready()
        yield deployment


def test_a_team_starts_it_and_an_agent_does_the_main_job(deployment: Deployment) -> None:
    headers = {"Authorization": f"Bearer {deployment.key()}"}
    with httpx.Client(
        base_url=f"{deployment.url}/api/v1", headers=headers, timeout=PATIENCE_SECONDS
    ) as client:
        demo = client.get("/web-client/config").raise_for_status().json()["demo"]
        conversation_id = start_conversation(
            client, demo["task"], llm_profile=demo["profile"], selected_repository=demo["repository"]
        )
        try:
            wait_until(
                lambda: start_task(client, conversation_id)["status"] in {"READY", "ERROR"},
                lambda: str(start_task(client, conversation_id)),
                BUILD_PATIENCE_SECONDS,
            )
            wait_for_status(client, conversation_id, "finished")
            changes = (
                client.get(f"/app-conversations/{conversation_id}/git/changes").raise_for_status().json()
            )
            log = events(client, conversation_id)
            assert changes

            deployment.compose("kill", "app", "postgres")
            deployment.compose("up", "--detach")
            deployment.wait_until_ready()
            assert events(client, conversation_id) == log
            wait_until(
                lambda: conversation(client, conversation_id)["sandbox_status"] == "RUNNING",
                lambda: str(conversation(client, conversation_id)),
            )
        finally:
            client.delete(f"/app-conversations/{conversation_id}").raise_for_status()
            wait_until(lambda: not containers_of(conversation_id), lambda: f"the end of {conversation_id}")

    assert_can_be_backed_up(deployment)
    assert_closed(deployment)


def assert_can_be_backed_up(deployment: Deployment) -> None:
    """Checks that a backup works through standard output: in the container, only the home directory is
    writable.
    """
    command = ["docker-compose", "exec", "-T", "app", "slipway", "backup", "-"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=deployment.environment,
        capture_output=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        assert {"database", "home/encryption.key", "manifest.json"} <= {*tar.getnames()}


def assert_closed(deployment: Deployment) -> None:
    """Checks that the app server has no Docker engine, no capability, and no credential in its variables."""
    inside = deployment.compose(
        "exec", "-T", "app", "sh", "-c", "ls /var/run; grep CapEff /proc/self/status; id -u"
    )
    assert "docker.sock" not in inside.stdout
    assert inside.stdout.split()[-2:] == ["0000000000000000", "10000"]
    for name in ("database-password", "host-token"):
        secret = deployment.compose("exec", "-T", "app", "cat", f"/credentials/{name}").stdout
        assert len(secret) > 30
        told = deployment.compose("ps", "-q").stdout.split()
        shown = subprocess.run(["docker", "inspect", *told], capture_output=True, text=True, check=True)
        assert secret not in shown.stdout
    ports = [each["NetworkSettings"]["Ports"] or {} for each in json.loads(shown.stdout)]
    published = [(port, found) for each in ports for port, found in each.items() if found]
    assert published == [("3000/tcp", [{"HostIp": "127.0.0.1", "HostPort": str(deployment.port)}])]


def containers_of(conversation_id: str) -> str:
    name = f"slipway-sandbox-{conversation_id.replace('-', '')}"
    command = ["docker", "ps", "-aq", "--filter", f"name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
