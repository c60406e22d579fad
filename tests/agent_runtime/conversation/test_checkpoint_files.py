"""Tests of checkpoints of unusual files and repositories, and of the cases without a checkpoint."""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_runtime.conversation.checkpoints.rewind import rewind
from agent_runtime.conversation.checkpoints.snapshots import MAX_CHECKPOINTS
from agent_runtime.conversation.errors import (
    AlreadyRunningError,
    CheckpointNotFoundError,
    CheckpointsUnavailableError,
)
from agent_runtime.wire import CheckpointKind
from agent_runtime.workspace import snapshot_repository
from tests.agent_runtime.conversation.checkpoint_turns import BOTH, FILES, turn, turns
from tests.agent_runtime.conversation.conftest import Conversations, user
from tests.agent_runtime.conversation.workspace_files import files_of, git
from tests.support.scripted_llm import ScriptedLLM, call, hold, say


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110 (files send no events)
            await asyncio.sleep(0.01)


async def test_the_users_repository_is_not_touched(conversations: Conversations, scripted_llm: ScriptedLLM):
    conversation = conversations.create()
    workspace = conversations.workspace
    git(workspace, "init", "-q", "-b", "main")
    for name in ("committed", "staged", "stashed"):
        workspace.joinpath(name).write_text(name)
    git(workspace, "add", "committed", "stashed")
    git(workspace, "commit", "-q", "-m", "First")
    workspace.joinpath("stashed").write_text("changed")
    git(workspace, "stash", "-q")
    git(workspace, "add", "staged")
    private = files_of(workspace / ".git", without=())

    await turn(conversation, scripted_llm, "echo agent > committed; rm staged; echo new > new")
    await rewind(conversation, turns(conversation)[0].id, BOTH)

    assert files_of(workspace / ".git", without=()) == private
    assert files_of(workspace).keys() == {"committed", "staged", "stashed"}


async def test_a_repository_within_is_kept_as_plain_files(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = conversations.create()
    inner = conversations.workspace / "vendor/inner"
    inner.mkdir(parents=True)
    git(inner, "init", "-q")
    inner.joinpath("a").write_text("a")
    git(inner, "add", "a")
    git(inner, "commit", "-q", "-m", "First")
    private, before = files_of(inner / ".git", without=()), files_of(inner)
    await turn(conversation, scripted_llm, "cd vendor/inner; echo changed > a; echo new > b")

    await rewind(conversation, turns(conversation)[0].id, BOTH)

    assert files_of(inner) == before
    assert files_of(inner / ".git", without=()) == private


async def test_no_program_of_the_repository_or_of_the_user_runs(
    conversations: Conversations,
    scripted_llm: ScriptedLLM,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    canary = tmp_path / "canary"
    home = tmp_path / "home"
    hooks = home / "hooks"
    hooks.mkdir(parents=True)
    for name in ("post-checkout", "pre-commit", "reference-transaction", "post-index-change", "fsmonitor"):
        hooks.joinpath(name).write_text(f"#!/bin/sh\ntouch {canary}\n")
        hooks.joinpath(name).chmod(0o755)
    settings = (
        f"[core]\n\thooksPath = {hooks}\n\tfsmonitor = {hooks}/fsmonitor\n\tautocrlf = true\n"
        f'[filter "evil"]\n\tclean = touch {canary}; cat\n\tsmudge = touch {canary}; cat\n\trequired = true\n'
        f'[diff "evil"]\n\ttextconv = touch {canary}; cat\n\tcommand = touch {canary}; true\n'
    )
    home.joinpath(".gitconfig").write_text(settings)
    home.joinpath(".config/git").mkdir(parents=True)
    home.joinpath(".config/git/attributes").write_text("* filter=evil diff=evil ident\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    conversation = conversations.create()
    workspace = conversations.workspace
    git(workspace, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "init", "-q")
    with workspace.joinpath(".git/config").open("a") as config:
        config.write(settings)
    workspace.joinpath(".gitattributes").write_text(
        "* filter=evil diff=evil text eol=crlf ident\n*.u16 working-tree-encoding=UTF-16\n[attr]x filter=y\n"
    )
    workspace.joinpath("a").write_bytes(b"$Id$\r\nmixed\nends\r\n\0")
    workspace.joinpath("b.u16").write_bytes("text".encode("utf-16"))
    before = files_of(workspace)
    canary.unlink(missing_ok=True)

    await turn(conversation, scripted_llm, "printf 'x\\n' > a; printf 'y\\n' > b.u16; rm .gitattributes")
    await conversation.checkpoints.diff(turns(conversation)[0].id)
    await rewind(conversation, turns(conversation)[0].id, BOTH)

    assert files_of(workspace) == before
    assert not canary.exists()


async def test_odd_names_come_back(conversations: Conversations, scripted_llm: ScriptedLLM):
    conversation = conversations.create()
    workspace = conversations.workspace
    for name in (b"new\nline", b'tab\t"quoted"', b"not-utf8-\xff", b"-dash", b":(glob)*", b"git~1", b" "):
        workspace.joinpath(os.fsdecode(name)).write_bytes(name)
    before = files_of(workspace)
    await turn(conversation, scripted_llm, "find . -maxdepth 1 -type f -name '*' -delete; ls -A")

    diff = await conversation.checkpoints.diff(turns(conversation)[0].id)
    await rewind(conversation, turns(conversation)[0].id, BOTH)

    assert files_of(workspace) == before
    assert diff.model_dump_json()
    assert len(diff.files) == len(before)


async def test_a_link_to_elsewhere_is_kept_as_a_link(
    conversations: Conversations, scripted_llm: ScriptedLLM, tmp_path: Path
):
    outside = tmp_path / "outside"
    outside.mkdir()
    outside.joinpath("a").write_text("not ours")
    conversation = conversations.create()
    workspace = conversations.workspace
    workspace.joinpath("d").mkdir()
    workspace.joinpath("d/a").write_text("ours")
    await turn(conversation, scripted_llm, f"rm -r d; ln -s {outside} d")
    second = files_of(workspace)
    await turn(conversation, scripted_llm, "rm d; mkdir d; echo again > d/a")

    await rewind(conversation, turns(conversation)[1].id, BOTH)
    assert files_of(workspace) == second
    await rewind(conversation, turns(conversation)[0].id, BOTH)

    assert files_of(workspace) == {"d/a": ("file", b"ours")}
    assert outside.joinpath("a").read_text() == "not ours"


async def test_permissions_but_for_execution_stay_those_of_the_file(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = conversations.create()
    secret = conversations.workspace / "secret"
    secret.write_text("one")
    secret.chmod(0o600)
    await turn(conversation, scripted_llm, "echo two > secret; chmod u+x secret")

    await rewind(conversation, turns(conversation)[0].id, BOTH)

    assert secret.read_text() == "one"
    assert secret.stat().st_mode & 0o777 == 0o600


async def test_an_agent_at_work_is_not_rewound(conversations: Conversations, scripted_llm: ScriptedLLM):
    conversation = conversations.create()
    await turn(conversation, scripted_llm, "echo one > a")
    thinking = hold(say("Done."))
    scripted_llm.script(thinking)
    conversation.send(user("Again."))
    conversation.start()

    with pytest.raises(AlreadyRunningError):
        await rewind(conversation, turns(conversation)[0].id, BOTH)

    thinking.release()
    await conversation.wait()
    assert (conversations.workspace / "a").read_text() == "one\n"


async def test_there_must_be_such_a_checkpoint(conversations: Conversations):
    conversation = conversations.create()
    with pytest.raises(CheckpointNotFoundError):
        await rewind(conversation, 1, BOTH)


async def test_a_stopped_agents_changes_are_its_own(conversations: Conversations, scripted_llm: ScriptedLLM):
    conversation = conversations.create()
    scripted_llm.script(call("terminal", command="echo one > a; sleep 600"))
    conversation.send(user("Go."))
    conversation.start()
    await until((conversations.workspace / "a").exists)
    await conversation.interrupt()

    await rewind(conversation, turns(conversation)[0].id, BOTH)

    assert files_of(conversations.workspace) == {}


async def test_checkpoints_are_there_after_a_restart(conversations: Conversations, scripted_llm: ScriptedLLM):
    conversation = conversations.create()
    await turn(conversation, scripted_llm, "echo one > a")
    known = conversation.checkpoints.list()
    await conversation.close()
    again = conversations.reopen()

    assert again.checkpoints.list() == known
    await rewind(again, turns(again)[0].id, BOTH)
    assert files_of(conversations.workspace) == {}


async def test_checkpoints_are_deleted_with_the_conversation(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = conversations.create()
    await turn(conversation, scripted_llm, "echo one > a")
    await conversation.delete()
    assert [path.name for path in conversations.path.iterdir()] == ["workspace"]


async def test_conversations_that_are_kept_in_the_workspace_are_not_rewound(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversations.workspace = conversations.path
    conversation = conversations.create()
    await turn(conversation, scripted_llm, "echo one > a")

    result = await rewind(conversation, turns(conversation)[0].id, BOTH)

    assert [one.path for one in result.files] == ["a"]
    assert conversation.checkpoints.list().checkpoints


async def test_without_git_agents_work_without_checkpoints(
    conversations: Conversations, scripted_llm: ScriptedLLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("bash", "sh", "env", "cat", "mkfifo", "rm"):
        programs.joinpath(name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(programs))
    conversation = conversations.create()
    await turn(conversation, scripted_llm, "echo one > a")

    listed = conversation.checkpoints.list()
    assert (conversations.workspace / "a").read_text() == "one\n"
    assert listed.checkpoints == []
    assert listed.unavailable == {"code": "git_failed", "detail": "git is not installed in this sandbox."}


async def test_a_workspace_without_a_project_has_no_checkpoints(
    conversations: Conversations, scripted_llm: ScriptedLLM, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(snapshot_repository, "MAX_NEW_FILES", 3)
    conversation = conversations.create()
    await turn(conversation, scripted_llm, "touch 1 2 3")
    first = turns(conversation)[0].id
    for number in range(4, 8):
        conversations.workspace.joinpath(str(number)).touch()
    before = files_of(conversations.workspace)

    # The rewind is refused as well, because it could not first keep the present files. It changes nothing.
    with pytest.raises(CheckpointsUnavailableError):
        await rewind(conversation, first, BOTH)

    assert files_of(conversations.workspace) == before
    assert (conversation.checkpoints.list().unavailable or {})["code"] == "workspace_too_large"
    await turn(conversation, scripted_llm, "rm 4 5 6 7")
    assert conversation.checkpoints.list().unavailable is None


async def test_a_rewind_may_restore_more_files_than_one_checkpoint_may_add(
    conversations: Conversations, scripted_llm: ScriptedLLM, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(snapshot_repository, "MAX_NEW_FILES", 3)
    conversation = conversations.create()
    await turn(conversation, scripted_llm, "for n in 1 2 3; do echo old > $n; done")
    await turn(conversation, scripted_llm, "for n in 4 5 6; do echo old > $n; done")
    before = files_of(conversations.workspace)
    await turn(conversation, scripted_llm, "for n in 1 2 3; do echo new > $n; done")
    third = turns(conversation)[2].id
    await turn(conversation, scripted_llm, "for n in 4 5 6; do echo new > $n; done")
    after = files_of(conversations.workspace)

    result = await rewind(conversation, third, FILES)

    assert files_of(conversations.workspace) == before
    assert conversation.checkpoints.list().unavailable is None
    assert conversation.checkpoints.list().checkpoints[-1].kind is CheckpointKind.REWOUND
    # The restored files do not count as edits of the user, and later changes are seen.
    assert (await conversation.checkpoints.diff(result.undo)).edited == []
    await rewind(conversation, result.undo, FILES)
    assert files_of(conversations.workspace) == after
    conversations.workspace.joinpath("5").write_text("mine")
    assert (await conversation.checkpoints.diff(third)).edited == ["5"]
    await conversation.close()
    again = conversations.reopen()
    await again.run()
    assert (conversations.workspace / "4").read_text() == "new\n"


async def test_the_oldest_are_forgotten(
    conversations: Conversations, scripted_llm: ScriptedLLM, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("agent_runtime.conversation.checkpoints.snapshots.MAX_CHECKPOINTS", 4)
    monkeypatch.setattr("agent_runtime.conversation.checkpoints.snapshots._TIDY_EVERY", 2)
    conversation = conversations.create()
    for number in range(6):
        await turn(conversation, scripted_llm, f"echo {number} > a")
    await conversation.checkpoints.tidy()

    assert MAX_CHECKPOINTS >= 100
    kept = conversation.checkpoints.list().checkpoints
    assert [one.id for one in kept] == [9, 10, 11, 12]
    await rewind(conversation, kept[0].id, FILES)
    assert (conversations.workspace / "a").read_text() == "3\n"
