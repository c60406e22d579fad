"""Faults of a start that come from the machine: small disks and sockets that may not be opened.

Other faults are in test_start_faults.py. Each server here has its own mount namespace or reduced rights.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app_server.core.config import DEFAULT_BASE_IMAGE
from app_server.sandbox_backends.docker.network import NETWORK
from tests.support.requirements import OWN_MOUNTS
from tests.support.server import AppServerProcess, Json, start_conversation, start_task, wait_until

pytestmark = [pytest.mark.docker, pytest.mark.namespaces]

SMALL_DISK = ("sh", "-c", 'mount -t tmpfs -o size=64k none "$0" && exec "$@"')
# Without this, root may open every socket.
AS_ANYBODY = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
UNBUILT_BASE = "slipway-test-base:unbuilt"


def failed_start(server: AppServerProcess, **request: Any) -> Json:
    """Starts a conversation and returns the error of the failed start."""
    with server.client() as client:
        conversation_id = start_conversation(client, "hello", llm_profile="demo", **request)
        wait_until(
            lambda: start_task(client, conversation_id)["status"] in {"READY", "ERROR"},
            lambda: str(start_task(client, conversation_id)),
        )
        error: Json = start_task(client, conversation_id)["error"]
        return error


def doctor_says(server: AppServerProcess, name: str) -> Json:
    lines = server.slipway("doctor", "--json", fails=True).stdout.splitlines()
    return next(finding for finding in map(json.loads, lines) if finding["name"] == name)


def test_a_socket_that_is_not_for_us(tmp_path: Path) -> None:
    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(path))
        engine.listen()
        path.chmod(0)
        environment = {"DOCKER_HOST": f"unix://{path}"}
        python = (*AS_ANYBODY, sys.executable)
        with AppServerProcess(
            tmp_path / "home", sandbox="docker", environment=environment, python=python
        ) as server:
            error, finding = failed_start(server), doctor_says(server, "engine")

    assert error["code"] == finding["code"] == "docker_not_permitted"
    assert "usermod -aG docker" in error["fix"]
    assert finding["fix"] == error["fix"]


def test_too_little_room_to_build_the_image(tmp_path: Path) -> None:
    root = subprocess.check_output(["docker", "info", "--format", "{{.DockerRootDir}}"], text=True).strip()
    subprocess.run(["docker", "tag", DEFAULT_BASE_IMAGE, UNBUILT_BASE], check=True)
    try:
        with AppServerProcess(
            tmp_path / "home",
            sandbox="docker",
            environment={"SLIPWAY_SANDBOX_BASE_IMAGE": UNBUILT_BASE},
            python=(*OWN_MOUNTS, *SMALL_DISK, root, sys.executable),
        ) as server:
            error, finding = failed_start(server), doctor_says(server, "base image")
    finally:
        subprocess.run(["docker", "rmi", UNBUILT_BASE], check=True, capture_output=True)

    assert error["code"] == finding["code"] == "sandbox_image_no_room"
    assert "slipway images prune" in error["fix"]


def test_a_full_disk_of_process_sandboxes(tmp_path: Path) -> None:
    sandboxes = tmp_path / "home" / "sandboxes"
    sandboxes.mkdir(parents=True)
    fill = ("sh", "-c", 'head -c 1M /dev/zero > "$0/filler"; exec "$@"', str(sandboxes))
    with AppServerProcess(
        tmp_path / "home",
        sandbox="process",
        python=(*OWN_MOUNTS, *SMALL_DISK, str(sandboxes), *fill, sys.executable),
    ) as server:
        error, finding = failed_start(server), doctor_says(server, "probe sandbox")

    assert error["code"] == finding["code"] == "sandbox_disk_full"
    assert str(sandboxes) in error["cause"]


def test_an_interpreter_that_was_removed_while_the_server_ran(tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    (environment / "bin").mkdir(parents=True)
    python = environment / "bin" / "python"
    python.symlink_to(Path(sys.executable).resolve())
    (environment / "lib").symlink_to(Path(sys.prefix) / "lib")
    (environment / "pyvenv.cfg").write_bytes((Path(sys.prefix) / "pyvenv.cfg").read_bytes())
    with AppServerProcess(tmp_path / "home", sandbox="process", python=(str(python),)) as server:
        server.api_key()
        python.unlink()
        error = failed_start(server)

    assert error["code"] == "agent_server_missing"
    assert error["fix"].startswith("Restart Slipway")


def test_an_inner_port_that_is_taken_when_the_engine_comes_late(tmp_path: Path) -> None:
    path = tmp_path / "docker.sock"
    gateway = subprocess.check_output(
        ["docker", "network", "inspect", NETWORK, "--format", "{{(index .IPAM.Config 0).Gateway}}"], text=True
    ).strip()
    with (
        AppServerProcess(
            tmp_path / "home", sandbox="docker", environment={"DOCKER_HOST": f"unix://{path}"}
        ) as server,
        socket.socket() as stranger,
    ):
        server.api_key()
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        stranger.bind((gateway, server.inner_port))
        stranger.listen()
        path.symlink_to("/var/run/docker.sock")
        error = failed_start(server)

    assert error["code"] == "inner_port_taken"
    assert "SLIPWAY_INNER_PORT" in error["fix"]
