"""Tests of the SDK's RemoteWorkspace: commands, files, git, and access with a key."""

import asyncio
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from openhands.sdk.git.models import GitChangeStatus
from openhands.sdk.workspace import AsyncRemoteWorkspace, RemoteWorkspace

from tests.support.agent_server import KEY, AgentServer
from tests.support.patience import PATIENCE_SECONDS

PNG = bytes(range(256)) * 20


def git(directory: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", "-C", directory, *who, *arguments], check=True, capture_output=True)


def test_a_command_gives_its_output_and_exit_code(workspace: RemoteWorkspace):
    result = workspace.execute_command("echo out; echo err >&2; exit 3")

    assert result.exit_code == 3
    assert result.stdout == "out\n"
    assert result.stderr == "err\n"
    assert not result.timeout_occurred


def test_a_command_runs_where_it_is_told_to(workspace: RemoteWorkspace, tmp_path: Path):
    assert workspace.execute_command("pwd", cwd=tmp_path).stdout == f"{tmp_path}\n"


def test_output_beyond_one_event_comes_back_whole(workspace: RemoteWorkspace):
    result = workspace.execute_command("seq 1 30000")

    assert result.stdout == "".join(f"{number}\n" for number in range(1, 30001))


def test_a_command_that_takes_too_long_is_ended(workspace: RemoteWorkspace):
    # The last characters are held back if a secret of another test on this server could begin with them.
    result = workspace.execute_command("echo before; echo '****'; sleep 600", timeout=3)

    assert result.exit_code == -1
    assert "before" in result.stdout


def test_a_command_is_started_watched_and_stopped(workspace: RemoteWorkspace):
    command_id = workspace.start_command("echo ready; sleep 600", timeout=600)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (workspace.get_command_output(command_id) or {}).get("stdout") != "ready\n":
        assert time.monotonic() < deadline

    workspace.stop_command(command_id)
    workspace.stop_command(command_id)

    output = None
    while (output or {}).get("exit_code") is None:
        assert time.monotonic() < deadline
        output = workspace.get_command_output(command_id)


def test_a_file_comes_back_as_it_was_sent(workspace: RemoteWorkspace, tmp_path: Path):
    source, back = tmp_path / "image.png", tmp_path / "back" / "image.png"
    source.write_bytes(PNG)

    sent = workspace.file_upload(source, Path(workspace.working_dir) / "new" / "image.png")
    got = workspace.file_download(Path(workspace.working_dir) / "new" / "image.png", back)

    assert (sent.success, sent.file_size) == (True, len(PNG))
    assert (got.success, got.file_size) == (True, len(PNG))
    assert back.read_bytes() == PNG


def test_a_file_that_is_not_there_cannot_be_downloaded(workspace: RemoteWorkspace, tmp_path: Path):
    result = workspace.file_download(Path(workspace.working_dir) / "nothing", tmp_path / "nothing")

    assert not result.success
    assert result.error


def test_changes_of_a_repository_and_of_one_file_are_shown(workspace: RemoteWorkspace):
    directory = Path(workspace.working_dir)
    git(directory, "init", "-q")
    for name in ("kept.txt", "gone.txt"):
        (directory / name).write_text("one\n")
    git(directory, "add", ".")
    git(directory, "commit", "-qm", "begin")
    (directory / "kept.txt").write_text("two\n")
    (directory / "gone.txt").unlink()
    (directory / "grüße 1.txt").write_text("new\n")

    changes = {(str(change.path), change.status) for change in workspace.git_changes(directory)}
    diff = workspace.git_diff(directory / "kept.txt")

    assert changes == {
        ("kept.txt", GitChangeStatus.UPDATED),
        ("gone.txt", GitChangeStatus.DELETED),
        ("grüße 1.txt", GitChangeStatus.ADDED),
    }
    # Newlines at the end are trimmed by the reference server and kept by ours.
    assert (diff.original or "").strip() == "one"
    assert (diff.modified or "").strip() == "two"


def test_a_directory_that_is_no_repository_is_refused(workspace: RemoteWorkspace, tmp_path: Path):
    with pytest.raises(httpx.HTTPStatusError) as refusal:
        workspace.git_changes(tmp_path)

    assert refusal.value.response.status_code == 404
    assert refusal.value.response.json()["detail"]


def test_the_server_is_alive_and_says_what_it_is(workspace: RemoteWorkspace):
    info = workspace.get_server_info()

    assert workspace.alive
    assert {"terminal", "file_editor"} <= set(info["usable_tools"])
    assert info["conversation_runtime"] == "local"


def test_nothing_is_alive_where_no_server_is(tmp_path: Path):
    assert not RemoteWorkspace(host="http://127.0.0.1:9", working_dir=str(tmp_path)).alive


@pytest.mark.parametrize("key", [None, "wrong"])
def test_without_the_key_nothing_is_done(server: AgentServer, tmp_path: Path, key: str | None):
    stranger = RemoteWorkspace(host=server.url, api_key=key, working_dir=str(tmp_path))

    result = stranger.execute_command("touch done", cwd=tmp_path)

    assert result.exit_code == -1
    assert "401" in result.stderr
    assert not (tmp_path / "done").exists()
    with pytest.raises(httpx.HTTPStatusError, match="401"):
        stranger.git_changes(tmp_path)


def test_the_asynchronous_workspace_does_the_same(server: AgentServer, tmp_path: Path):
    (tmp_path / "here.txt").write_text("text")

    async def use() -> None:
        workspace = AsyncRemoteWorkspace(host=server.url, api_key=KEY, working_dir=str(tmp_path))
        result = await workspace.execute_command("cat here.txt", cwd=tmp_path)
        assert result.stdout == "text"
        got = await workspace.file_download(tmp_path / "here.txt", tmp_path / "there.txt")
        assert got.success
        assert workspace.alive

    asyncio.run(use())
    assert (tmp_path / "there.txt").read_text() == "text"


def test_skills_of_a_project_are_loaded_by_the_server(workspace: RemoteWorkspace):
    skills = Path(workspace.working_dir) / ".agents" / "skills"
    (skills / "release").mkdir(parents=True)
    (skills / "release" / "SKILL.md").write_text(
        "---\nname: release\ndescription: How to release\n---\nTag it.\n"
    )
    (skills / "zebra.md").write_text("---\nname: zebra\ntriggers: [zebra]\n---\nStripes.\n")
    (Path(workspace.working_dir) / "AGENTS.md").write_text("Be brief.\n")

    loaded, context = workspace.load_skills_from_agent_server(
        load_public=False, load_user=False, load_org=False
    )

    by_name = {skill.name: skill for skill in loaded}
    assert by_name["release"].is_agentskills_format
    assert by_name["release"].description == "How to release"
    assert by_name["zebra"].trigger is not None
    assert any("Be brief." in skill.content and skill.trigger is None for skill in loaded)
    assert {skill.name for skill in context.skills} >= {"release", "zebra"}
