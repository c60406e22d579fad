"""A failed start reports its stage, its cause and a fix. Afterwards it can be retried."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sandbox_image import sandbox_image
from tests.support.server import (
    AppServerProcess,
    Json,
    conversation,
    start_conversation,
    start_task,
    wait_until,
)

pytestmark = pytest.mark.docker

MISSING_IMAGE = "slipway-test-image:missing"


@pytest.fixture
def missing_image() -> Iterator[str]:
    """Yields the name of an image that does not exist. Removes the name afterwards, if a test has
    created it.
    """
    yield MISSING_IMAGE
    subprocess.run(["docker", "rmi", MISSING_IMAGE], capture_output=True, check=False)


def ended(server: AppServerProcess, conversation_id: str) -> Json:
    """Returns the start task when its status is READY or ERROR."""
    with server.client() as client:
        wait_until(
            lambda: start_task(client, conversation_id)["status"] in {"READY", "ERROR"},
            lambda: str(start_task(client, conversation_id)),
        )
        return start_task(client, conversation_id)


def failed_stage(task: Json) -> str:
    (failed,) = [stage for stage in task["stages"] if stage["state"] == "failed"]
    return str(failed["status"])


def test_without_a_docker_engine(tmp_path: Path) -> None:
    environment = {"DOCKER_HOST": "tcp://127.0.0.1:9"}
    with AppServerProcess(tmp_path / "home", sandbox="docker", environment=environment) as server:
        with server.client() as client:
            task = ended(server, start_conversation(client, "hello", llm_profile="demo"))
        assert task["error"]["code"] == "docker_unavailable"
        assert failed_stage(task) == task["error"]["stage"] == "WAITING_FOR_SANDBOX"
        assert "does not answer" in task["error"]["cause"]
        assert "SLIPWAY_SANDBOX=process" in task["error"]["fix"]


def test_an_engine_that_comes_up_after_the_server_is_found_without_a_restart(tmp_path: Path) -> None:
    socket = tmp_path / "docker.sock"
    environment = {"DOCKER_HOST": f"unix://{socket}", "SLIPWAY_SANDBOX_IMAGE": sandbox_image()}
    with (
        AppServerProcess(tmp_path / "home", sandbox="docker", environment=environment) as server,
        server.client() as client,
    ):
        early = ended(server, start_conversation(client, "hello", llm_profile="demo"))
        socket.symlink_to("/var/run/docker.sock")
        late = ended(server, start_conversation(client, "hello", llm_profile="demo"))
        wait_until(
            lambda: conversation(client, late["id"])["last_seq"] > 1,
            lambda: f"its events to reach the inner listener: {server.output()}",
        )

    assert early["error"]["code"] == "docker_unavailable"
    assert late["status"] == "READY"


def test_without_the_image_and_again_once_it_is_there(tmp_path: Path, missing_image: str) -> None:
    environment = {"SLIPWAY_SANDBOX_IMAGE": missing_image}
    with (
        AppServerProcess(tmp_path / "home", sandbox="docker", environment=environment) as server,
        server.client() as client,
    ):
        conversation_id = start_conversation(client, "hello", llm_profile="demo")
        task = ended(server, conversation_id)
        assert task["error"]["code"] == "sandbox_image_missing"
        assert failed_stage(task) == "WAITING_FOR_SANDBOX"
        assert f"docker pull {missing_image}" in task["error"]["fix"]

        subprocess.run(["docker", "tag", sandbox_image(), missing_image], check=True)
        client.post(f"/app-conversations/start-tasks/{conversation_id}/retry").raise_for_status()
        wait_until(
            lambda: start_task(client, conversation_id)["status"] == "READY",
            lambda: str(start_task(client, conversation_id)),
        )
