"""`slipway demo`: the main job, headless, judged by its exit code."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import SANDBOX_KINDS

DEMO_TIMEOUT_SECONDS = 900


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "app_server", "demo", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEMO_TIMEOUT_SECONDS)


def machines() -> set[str]:
    """What there is of sandboxes on this machine: containers, volumes, agent servers of demos."""
    left = {path.name for path in Path("/proc").glob("[0-9]*") if _belongs_to_a_demo(path)}
    if shutil.which("docker"):
        for command in (["ps", "--all", "--filter", "label=slipway.sandbox"], ["volume", "ls"]):
            listed = subprocess.run(
                ["docker", *command, "--quiet"], capture_output=True, text=True, check=False
            )
            left.update(listed.stdout.split())
    return left


def _belongs_to_a_demo(process: Path) -> bool:
    try:
        return b"/slipway-demo-" in (process / "environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False


@pytest.mark.timeout(DEMO_TIMEOUT_SECONDS)
@pytest.mark.parametrize("kind", SANDBOX_KINDS)
def test_the_demo_mends_the_bug_in_a_sandbox_and_says_what_it_did(kind: str) -> None:
    before = machines()
    ended = demo("--sandbox", kind)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"Sandbox kind: {kind}" in ended.stdout
    assert "diff --git a/voyage/duration.py b/voyage/duration.py" in ended.stdout
    assert "Ran 7 tests" in ended.stdout
    assert "Start the sandbox" in ended.stdout
    assert "Events" in ended.stdout
    assert machines() == before


def test_a_demo_that_cannot_start_a_sandbox_fails_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    ended = demo("--sandbox", "docker")
    assert ended.returncode == 1
    assert "docker_unavailable" in ended.stdout
    assert "Fix:" in ended.stdout
