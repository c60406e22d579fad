"""`slipway demo` fixes a bug in a sandbox without a browser, and its exit code says whether that
succeeded.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

DEMO_TIMEOUT_SECONDS = 900


def demo(*arguments: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs `slipway demo`. home: the directory for its temporary files; None for the default."""
    command = [sys.executable, "-m", "app_server", "demo", *arguments]
    environment = {**os.environ, **({"TMPDIR": str(home)} if home else {})}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=DEMO_TIMEOUT_SECONDS, env=environment
    )


def processes(home: Path) -> set[str]:
    """Returns the process ids of the agent servers of a demo whose temporary files are below `home`."""
    return {path.name for path in Path("/proc").glob("[0-9]*") if _belongs_to(home, path)}


def machines(conversation_id: str) -> list[str]:
    """Returns the ids of the conversation's containers and the names of its volumes in the Docker engine."""
    left: list[str] = []
    for command in (["ps", "--all"], ["volume", "ls"]):
        named = ["docker", *command, "--quiet", "--filter", f"name={conversation_id}"]
        left += subprocess.run(named, capture_output=True, text=True, check=True).stdout.split()
    return left


def _belongs_to(home: Path, process: Path) -> bool:
    try:
        return f"{home}/slipway-demo-".encode() in (process / "environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False


@pytest.mark.timeout(DEMO_TIMEOUT_SECONDS)
def test_the_demo_mends_the_bug_in_a_sandbox_and_says_what_it_did(tmp_path: Path) -> None:
    ended = demo("--sandbox", "process", home=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "Sandbox kind: process" in ended.stdout
    assert "diff --git a/voyage/duration.py b/voyage/duration.py" in ended.stdout
    assert "Ran 7 tests" in ended.stdout
    assert "Start the sandbox" in ended.stdout
    assert "Events" in ended.stdout
    assert processes(tmp_path) == set()


@pytest.mark.docker
@pytest.mark.timeout(DEMO_TIMEOUT_SECONDS)
def test_the_demo_in_a_container_leaves_nothing_behind() -> None:
    ended = demo("--sandbox", "docker", "--json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    summary = json.loads(ended.stdout.splitlines()[-1])
    assert (summary["type"], summary["succeeded"], summary["sandbox"]) == ("summary", True, "docker")
    assert "diff --git a/voyage/duration.py b/voyage/duration.py" in summary["diff"]
    assert "Ran 7 tests" in summary["verification"]["output"]
    assert machines(summary["conversation_id"]) == []


def test_a_demo_that_cannot_start_a_sandbox_fails_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    ended = demo("--sandbox", "docker")
    assert ended.returncode == 1
    assert "docker_unavailable" in ended.stdout
    assert "Fix:" in ended.stdout
