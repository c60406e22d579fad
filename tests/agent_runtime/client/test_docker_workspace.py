"""Tests of a container as a workspace: its isolation, its failures, and its removal."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_runtime import DockerWorkspace, WorkspaceError
from tests.support.patience import PATIENCE_SECONDS
from tests.support.sandbox_image import sandbox_image

# Some of the tests compare the list of the library's containers before the test with the list after it.
pytestmark = [pytest.mark.docker, pytest.mark.one_worker]

BROKEN = "slipway-test-broken:latest"


def docker(*arguments: str, stdin: str = "") -> str:
    return subprocess.run(
        ["docker", *arguments], input=stdin, capture_output=True, text=True, check=True
    ).stdout.strip()


def containers() -> set[str]:
    return set(docker("ps", "--all", "--quiet", "--no-trunc", "--filter", "label=slipway.library").split())


@pytest.fixture
def broken_image() -> Iterator[str]:
    """Builds an image whose agent server does not start, and yields the name of this image."""
    entrypoint = 'ENTRYPOINT ["/bin/sh", "-c", "echo the disk is on fire >&2; exit 7"]'
    docker("build", "--tag", BROKEN, "-", stdin=f"FROM {sandbox_image()}\n{entrypoint}\n")
    yield BROKEN
    docker("rmi", "--force", BROKEN)


def test_a_container_is_isolated_and_removed_with_its_files(tmp_path: Path):
    (tmp_path / "given.txt").write_text("from here\n")
    (tmp_path / "given.txt").chmod(0o644)
    tmp_path.chmod(0o755)
    with DockerWorkspace(
        sandbox_image(), memory_bytes=512 * 1024**2, cpus=1, pids=100, volumes={str(tmp_path): "/given"}
    ) as workspace:
        container = workspace.container_id
        (inspected,) = json.loads(docker("inspect", container))
        host = inspected["HostConfig"]
        volumes = [mount["Name"] for mount in inspected["Mounts"] if mount["Type"] == "volume"]

        assert (host["Memory"], host["NanoCpus"], host["PidsLimit"]) == (512 * 1024**2, 10**9, 100)
        assert host["ReadonlyRootfs"]
        assert "CapEff:\t0000000000000000" in workspace.execute_command("cat /proc/self/status").stdout
        assert "NoNewPrivs:\t1" in workspace.execute_command("cat /proc/self/status").stdout
        assert workspace.execute_command("id -u").stdout == "10001\n"
        assert workspace.execute_command("cat /given/given.txt").stdout == "from here\n"
        assert workspace.host.startswith("http://127.0.0.1:")
        secrets = workspace.execute_command("cat /workspace/.session-key; cat /proc/1/environ; env").stdout
        assert workspace.api_key is not None
        assert workspace.api_key not in secrets

    assert container not in containers()
    assert volumes
    assert not set(volumes) & set(docker("volume", "ls", "--quiet").split())
    assert not workspace.alive
    workspace.close()


def test_a_program_that_does_not_close_it_leaves_nothing():
    before = containers()
    program = (
        "import sys; from agent_runtime import DockerWorkspace; print(DockerWorkspace(sys.argv[1]).alive)"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program, sandbox_image()], capture_output=True, text=True, check=True
    )

    assert ended.stdout == "True\n"
    assert containers() == before


def test_a_container_that_does_not_start_says_why_and_is_removed(broken_image: str):
    before = containers()
    with pytest.raises(WorkspaceError, match="the disk is on fire") as caught:
        DockerWorkspace(broken_image)

    assert caught.value.code == "sandbox_start_failed"
    assert "exit status 7" in str(caught.value)
    assert caught.value.fix
    assert containers() == before


def test_a_container_that_starts_too_slowly_is_removed():
    before = containers()
    with pytest.raises(WorkspaceError) as caught:
        DockerWorkspace(sandbox_image(), start_timeout=0)

    assert caught.value.code == "sandbox_start_timeout"
    assert containers() == before


def test_a_missing_image_names_what_makes_it():
    with pytest.raises(WorkspaceError, match="slipway images build") as caught:
        DockerWorkspace("slipway-sandbox:no-such-version")

    assert caught.value.code == "sandbox_image_missing"


def test_a_guessed_key_is_rejected_and_a_container_that_ends_is_found_out():
    with DockerWorkspace(sandbox_image()) as workspace:
        key, workspace.api_key = workspace.api_key, "guessed"
        with pytest.raises(WorkspaceError) as rejected:
            workspace.execute_command("true")
        workspace.api_key = key
        docker("kill", workspace.container_id)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while workspace.alive and time.monotonic() < deadline:
            time.sleep(0.05)
        with pytest.raises(WorkspaceError) as caught:
            workspace.execute_command("true")

    assert rejected.value.code == "not_authenticated"
    assert caught.value.code == "disconnected"
