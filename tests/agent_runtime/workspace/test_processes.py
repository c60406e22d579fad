"""If a program of the agent server is cancelled, its processes end and its pipes are closed."""

import asyncio
import os
from pathlib import Path

import pytest

from agent_runtime.workspace.processes import run_program
from tests.support.agent_app import eventually
from tests.support.left_running import open_pipes, programs_in, stand_still_until_exists

# The shell ends, but a program that it has started holds its output open.
LINGERS = "echo $$ > new; mv new begun; sleep 600 &"
STARTS = "sleep 600 & touch begun; wait"


async def test_a_cancelled_program_leaves_no_open_pipe_and_no_program(tmp_path: Path) -> None:
    begun, before = tmp_path / "begun", open_pipes()
    program = run_program("sh", "-c", LINGERS, cwd=tmp_path, environment=os.environ, timeout_seconds=600)
    work = asyncio.create_task(program)

    def has_ended() -> bool:
        if not begun.exists():
            return False
        return not set(begun.read_text().split()) & {*os.listdir("/proc")}  # noqa: PTH208 (names are wanted)

    await eventually(has_ended)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work

    assert open_pipes() <= before, "also a program that still ran would hold its end"


async def test_a_program_that_is_cancelled_while_it_starts_leaves_no_program(tmp_path: Path) -> None:
    program = run_program("sh", "-c", STARTS, cwd=tmp_path, environment=os.environ, timeout_seconds=600)
    work = asyncio.create_task(program)
    for _ in range(2):
        await asyncio.sleep(0)
    # The program runs, but the server has not finished its start, because the event loop is blocked.
    stand_still_until_exists(tmp_path / "begun")
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work

    await eventually(lambda: not programs_in(tmp_path))
