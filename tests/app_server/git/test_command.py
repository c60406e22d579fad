"""Tests of git commands on the app server: a cancelled command leaves no program and no open pipe."""

import asyncio
import os
from pathlib import Path

import pytest

from app_server.git.command import run_git
from tests.app_server.eventually import eventually
from tests.support.left_running import open_pipes, programs_in, stand_still_until_exists

# git ends, but a program that it has started keeps the output open.
LINGERS = "alias.linger=!echo $PPID $$ > new; mv new begun; sleep 600 &"
STARTS = "alias.start=!sleep 600 & touch begun; wait"


async def test_a_cancelled_git_command_leaves_no_open_pipe_and_no_program(tmp_path: Path) -> None:
    begun, before = tmp_path / "begun", open_pipes()
    work = asyncio.create_task(run_git("-c", LINGERS, "linger", directory=tmp_path, timeout_seconds=600))

    async def has_ended() -> bool:
        if not begun.exists():
            return False
        return not set(begun.read_text().split()) & {*os.listdir("/proc")}  # noqa: PTH208 (names are wanted)

    await eventually(has_ended)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work

    assert open_pipes() <= before, "also a program that still ran would hold its end"


async def test_a_git_command_that_is_cancelled_while_it_starts_leaves_no_program(tmp_path: Path) -> None:
    program = run_git("-c", STARTS, "start", directory=tmp_path, timeout_seconds=600)
    work = asyncio.create_task(program)
    for _ in range(2):
        await asyncio.sleep(0)
    # git runs, but the event loop has not finished its start, because the loop is blocked here.
    stand_still_until_exists(tmp_path / "begun")
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work

    async def is_alone() -> bool:
        return not programs_in(tmp_path)

    await eventually(is_alone)
