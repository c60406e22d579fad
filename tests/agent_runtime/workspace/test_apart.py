"""Tests of work in a separate git work tree whose changes are merged back into the original work tree."""

import asyncio
import subprocess
from pathlib import Path

from agent_runtime.workspace import sub_agent_work_trees
from tests.support.patience import PATIENCE_SECONDS


def git(path: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    return subprocess.run(
        ["git", *identity, *arguments], cwd=path, check=True, capture_output=True, text=True
    ).stdout


async def test_what_is_let_go_while_it_comes_back_leaves_no_ref_behind(tmp_path: Path):
    work, place = tmp_path / "work", tmp_path / "trees" / "task"
    work.mkdir()
    git(work, "init", "-q")
    git(work, "commit", "-q", "--allow-empty", "-m", "Begin")
    await sub_agent_work_trees.begin(work, place, "task")
    (place / "new.txt").write_text("new\n")

    returning = asyncio.create_task(sub_agent_work_trees.bring_back(work, place, "task"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while place.exists():  # noqa: ASYNC110 (git tells nobody)
            await asyncio.sleep(0.001)
    await sub_agent_work_trees.forget(work, place, "task")

    assert (await returning).files == ("new.txt",)
    assert (work / "new.txt").read_text() == "new\n"
    assert git(work, "for-each-ref", "refs/slipway") == ""
