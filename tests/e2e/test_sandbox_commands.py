"""`slipway sandboxes …` and `slipway images …`, as they are typed into a terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_SECONDS
from tests.support.sandbox_image import sandbox_image
from tests.support.server import AppServerProcess, start_conversation, wait_for_status


def slipway(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "app_server", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


def test_a_sandbox_is_listed_read_and_put_to_sleep_beside_its_server(server: AppServerProcess) -> None:
    with server.client() as client:
        conversation_id = start_conversation(client, "Look around.", llm_profile="demo")
        wait_for_status(client, conversation_id, "finished")

        [up] = server.slipway("sandboxes", "ls").stdout.splitlines()
        log = server.slipway("sandboxes", "logs", conversation_id[:8]).stdout
        stopped = server.slipway("sandboxes", "stop", conversation_id[:8]).stdout
        [down] = server.slipway("sandboxes", "ls").stdout.splitlines()

    assert up.split()[:3] == [conversation_id, "RUNNING", "up"]
    assert up.split()[-1] == "process"
    assert "Uvicorn running" in log
    assert stopped == f"Stopped {conversation_id}.\n"
    assert down.split()[:3] == [conversation_id, "PAUSED", "down"]


def test_a_sandbox_that_is_not_there_is_a_sentence_and_an_exit_code(server: AppServerProcess) -> None:
    for command in ("logs", "stop"):
        done = server.slipway("sandboxes", command, "feed", fails=True)

        assert (done.returncode, done.stdout) == (2, "")
        assert "sandboxes ls" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_home_without_a_server_is_a_sentence_and_an_exit_code(tmp_path: Path) -> None:
    done = slipway("sandboxes", "ls", "--home", str(tmp_path))

    assert (done.returncode, done.stdout) == (2, "")
    assert "slipway serve" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["build", "list", "prune"])
def test_images_without_an_engine_are_a_sentence_and_an_exit_code(command: str, tmp_path: Path) -> None:
    done = slipway("images", command, DOCKER_HOST=f"unix://{tmp_path}/nobody.sock")

    assert (done.returncode, done.stdout) == (2, "")
    assert "Fix: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.docker
def test_an_image_that_is_there_is_built_once_and_listed_as_the_current_one() -> None:
    image = sandbox_image()

    built = slipway("images", "build")
    listed = slipway("images", "list")

    assert (built.returncode, built.stdout) == (0, f"The sandbox image is ready: {image}\n")
    [line] = [each for each in listed.stdout.splitlines() if each.startswith(image)]
    assert line.split()[-1] == "current"
