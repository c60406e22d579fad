"""Tests of the commands, files and git functions of a workspace. They give the same results in each kind of
workspace.
"""

from pathlib import Path
from typing import Any

import pytest

from agent_runtime import (
    WorkspaceError,
)
from tests.agent_runtime.client.conftest import Place


def test_commands_and_files(place: Place, tmp_path: Path):
    workspace = place.workspace
    source = tmp_path / "source.bin"
    source.write_bytes(bytes(range(256)))

    up = workspace.file_upload(source, "deep/down/there.bin")
    assert (up.success, up.file_size) == (True, 256)
    assert workspace.execute_command("wc -c < there.bin", cwd="deep/down").stdout.strip() == "256"
    down = workspace.file_download("deep/down/there.bin", tmp_path / "new" / "back.bin")
    assert (tmp_path / "new" / "back.bin").read_bytes() == source.read_bytes()
    assert down.file_size == 256

    failed = workspace.execute_command("echo out; echo err >&2; exit 3")
    assert (failed.exit_code, failed.stdout, failed.stderr) == (3, "out\n", "err\n")
    late = workspace.execute_command("echo early; sleep 600", timeout=3)
    assert (late.timeout_occurred, late.stdout) == (True, "early\n")
    assert workspace.execute_command("sleep 60 & echo started").stdout == "started\n"
    assert workspace.alive


@pytest.mark.parametrize(
    ("use", "code"),
    [
        (lambda w, path: w.file_download("missing", path / "x"), "not_found"),
        (lambda w, path: w.file_upload(path / "missing", "x"), "not_found"),
        (lambda w, _: w.execute_command("true", cwd="missing"), "directory_not_found"),
        (lambda w, _: w.git_changes(), "not_a_repository"),
    ],
)
def test_what_a_workspace_refuses_has_the_same_name_everywhere(
    place: Place, tmp_path: Path, use: Any, code: str
):
    with pytest.raises(WorkspaceError) as caught:
        use(place.workspace, tmp_path)

    assert caught.value.code == code


def test_git(place: Place):
    workspace = place.workspace
    setup = (
        "git init -q && git config user.email a@b && git config user.name A && echo 1 > old && git add . "
        "&& git commit -qm one && echo 2 > old && echo new > fresh"
    )
    assert workspace.execute_command(setup).exit_code == 0

    assert [(c.status, c.path) for c in workspace.git_changes()] == [("ADDED", "fresh"), ("UPDATED", "old")]
    assert (workspace.git_diff("old").original, workspace.git_diff("old").modified) == ("1\n", "2\n")
    assert workspace.git_diff("fresh").original is None
    with pytest.raises(WorkspaceError) as caught:
        workspace.git_changes(ref="nowhere")
    assert caught.value.code == "unknown_ref"
