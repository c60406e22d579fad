"""Tests of the terminal while a command runs: waiting, timeouts, cancelling, and the end of shells."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agent_runtime.tools.terminal import pty_shell
from agent_runtime.tools.terminal.models import TerminalAction
from agent_runtime.tools.terminal.tool import TerminalTool
from agent_runtime.tools.tool import ToolContext
from agent_runtime.workspace import out_of_memory
from tests.agent_runtime.tools.terminal_runs import Run, run_until_shown, runner
from tests.support.patience import PATIENCE_SECONDS


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 (the file system sends no events)
            await asyncio.sleep(0.01)


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[TerminalTool]:
    workspace = tmp_path / "work space"
    workspace.mkdir()
    # These limits are long enough for a busy machine. Tests that let a command run on use a shorter timeout.
    context = ToolContext(workspace, tmp_path / "state")
    tool = TerminalTool(context, quiet_seconds=PATIENCE_SECONDS, settle_seconds=PATIENCE_SECONDS)
    yield tool
    await tool.close()


@pytest.fixture
def run(terminal: TerminalTool) -> Run:
    return runner(terminal)


@pytest.fixture
async def run_impatient(tmp_path: Path) -> AsyncIterator[Run]:
    """Yields a function that runs commands in a terminal with short waits: it soon leaves a silent command
    running.
    """
    tool = TerminalTool(ToolContext(tmp_path, tmp_path / "state"), quiet_seconds=0.2, settle_seconds=0.1)
    yield runner(tool)
    await tool.close()


WAIT_FOR_GO = "until [ -e go ]; do sleep 0.05; done"


async def test_an_empty_command_waits_for_more_of_a_running_one(run: Run, tmp_path: Path):
    await run_until_shown(run, f"echo one; {WAIT_FOR_GO}; echo two", "one")
    (tmp_path / "work space" / "go").touch()
    rest = await run("")
    assert (rest.text, rest.exit_code) == ("two", 0)


async def test_a_command_that_prints_nothing_is_left_running_after_a_while(run_impatient: Run):
    observation = await run_impatient("sleep 600")
    assert (observation.exit_code, observation.timeout) == (-1, True)
    assert "printed nothing for 0.2 seconds" in observation.metadata.suffix


async def test_an_answer_is_waited_for_only_until_the_output_settles(run_impatient: Run):
    await run_until_shown(run_impatient, "while read -p 'name? ' n; do echo hello $n; done", "name? ")
    answered = await run_impatient("Ada", is_input=True)
    assert (answered.exit_code, answered.timeout) == (-1, True)


def test_output_resets_the_patience_without_a_timeout():
    patience = pty_shell.Patience(quiet_seconds=30)
    assert patience.deadline(started=1, last_output=None) == 31
    assert patience.deadline(started=1, last_output=25) == 55
    assert pty_shell.Patience(total_seconds=30).deadline(started=1, last_output=25) == 31


async def test_a_timeout_leaves_the_command_running(run: Run, tmp_path: Path):
    observation = await run(f"{WAIT_FOR_GO}; echo done", timeout=0.1)
    assert (observation.exit_code, observation.timeout) == (-1, True)
    (tmp_path / "work space" / "go").touch()
    assert (await run("")).text == "done"


async def test_a_command_sent_while_another_runs_is_refused_with_advice(run: Run):
    await run_until_shown(run, "sh -c 'echo up; exec sleep 600'", "up")
    refused = await run("echo no")
    assert refused.is_error
    assert "sleep 600" in refused.text
    assert "C-c" in refused.text
    await run("C-c", is_input=True)


async def test_input_without_a_running_command_is_refused(run: Run):
    for fields in ({"command": "y", "is_input": True}, {"command": ""}):
        assert (await run(**fields)).is_error
    assert (await run("x", is_input=True, reset=True)).is_error


@pytest.mark.parametrize(
    ("command", "exit_code"), [("exit 7", 7), ("exec true", 0), ("set -e; false", 1), ("kill -KILL $$", 137)]
)
async def test_a_shell_that_ends_is_replaced_where_it_was(run: Run, tmp_path: Path, command, exit_code):
    await run("mkdir -p sub; cd sub")
    ended = await run(f"echo last words; {command}")
    assert (ended.text, ended.exit_code) == ("last words", exit_code)
    assert "new one" in ended.metadata.suffix
    assert (await run("pwd")).text == f"{tmp_path}/work space/sub"


async def test_a_shell_whose_directory_is_gone_starts_in_the_workspace(run: Run, tmp_path: Path):
    await run("mkdir sub; cd sub; rmdir ../sub; exit")
    assert (await run("pwd")).text == f"{tmp_path}/work space"


async def test_reset_gives_a_fresh_shell(run: Run, tmp_path: Path):
    await run("cd /; X=1; sleep 600", timeout=0)
    assert (await run("echo ${X-unset}; pwd", reset=True)).text == f"unset\n{tmp_path}/work space"
    assert (await run("", reset=True)).exit_code == 0


async def test_background_jobs_return_at_once_and_their_output_comes_later(run: Run, tmp_path: Path):
    assert (await run(f"({WAIT_FOR_GO}; echo late) &")).exit_code == 0
    (tmp_path / "work space" / "go").touch()
    assert "late" in (await run("wait; echo waited")).text


@pytest.mark.parametrize(
    "command",
    [
        "PS1='prompt> '; PS2=x",
        "PROMPT_COMMAND='echo noise'",
        "unset PROMPT_COMMAND",
        "trap 'echo trapped' INT",
        "set -u; set -o pipefail",
        "set -o noclobber",
        "stty raw -echo; true",
        "exec 2>/dev/null",
        "unset -f __slipway_report",
        "readonly PS1 PS2 PROMPT_COMMAND IFS r=1",
        "set() { :; }; declare() { :; }; local() { :; }; return() { :; }",
    ],
)
async def test_settings_of_the_shell_do_not_break_it(run: Run, command):
    await run(command)
    observation = await run("echo ok; (exit 3)")
    assert (observation.text, observation.exit_code) == ("ok", 3)


async def test_tracing_shows_the_commands_but_not_our_own(run: Run):
    await run("set -x")
    assert (await run("echo traced")).text.splitlines() == ["++ echo traced", "traced"]


async def test_a_shell_that_cuts_its_output_off_still_reports(run: Run):
    assert (await run("exec >/dev/null 2>&1")).exit_code == 0
    assert (await run("false")).exit_code == 1


async def test_nothing_of_the_servers_environment_leaks(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OH_SESSION_API_KEYS_0", "canary-key")
    monkeypatch.setenv("SOME_TOKEN", "canary-token")
    text = (await run("env; cat /proc/$$/environ | tr '\\0' '\\n'")).text
    assert "PATH=" in text
    assert "canary" not in text


async def test_no_file_of_the_server_is_open_in_the_shell(run: Run, tmp_path: Path):
    handle = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(handle, True)
    try:
        listing = (await run("for f in /proc/$$/fd/*; do readlink $f; done")).text.splitlines()
    finally:
        os.close(handle)
    assert {line.split("/")[1] for line in listing} <= {"dev"}


async def test_cancelling_interrupts_the_command_and_keeps_the_session(
    run: Run, terminal: TerminalTool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pty_shell, "INTERRUPT_GRACE_SECONDS", PATIENCE_SECONDS)
    await run("X=kept")
    # The program creates the marker, because a program that is just being started can miss the signal. It has
    # no child process: bash continues if the signal comes while it waits for a child that ends successfully.
    task = asyncio.create_task(run("bash -c ': >marker; exec sleep 600'; echo not reached"))
    await until((terminal._start_dir / "marker").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await run("echo $X")).text == "kept"


@pytest.mark.parametrize(
    "command", ["trap '' INT; touch marker; sleep 600", "trap '' INT; touch marker; while :; do :; done"]
)
async def test_cancelling_ends_a_command_that_ignores_ctrl_c(run: Run, terminal: TerminalTool, command):
    task = asyncio.create_task(run(command))
    await until((terminal._start_dir / "marker").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await run("echo usable")).text == "usable"


async def test_cancelling_also_interrupts_the_program_that_comes_next(run: Run, terminal: TerminalTool):
    await run("X=kept")
    deaf = "bash -c 'trap \"\" INT; touch marker; exec sleep 600'"
    task = asyncio.create_task(run(f"{deaf}; sleep 600; touch after"))
    await until((terminal._start_dir / "marker").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await run("echo $X")).text == "kept"
    assert not (terminal._start_dir / "after").exists()


async def test_closing_ends_everything_the_shell_started(run: Run, terminal: TerminalTool):
    pids = [
        int(p)
        for p in (await run("sleep 300 & echo $!; nohup sleep 300 >/dev/null 2>&1 & echo $!")).text.split()
        if p.isdigit()
    ]
    await terminal.close()
    await terminal.close()
    assert len(pids) == 2
    await until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in pids))


async def test_a_missing_workspace_is_explained(tmp_path: Path):
    tool = TerminalTool(ToolContext(tmp_path / "gone", tmp_path))
    observation = await tool.run(TerminalAction(command="true"))
    assert observation.is_error
    assert "gone" in observation.text


async def test_cancelling_the_first_command_leaves_nothing_behind(
    run: Run, terminal: TerminalTool, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for turns in range(12):
        task = asyncio.create_task(run("true"))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        await terminal.close()
        assert not list(tmp_path.glob("slipway-*"))
    assert (await run("echo usable")).text == "usable"


async def test_a_command_whose_sandbox_ran_out_of_memory_says_so(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = tmp_path / "memory.events"
    counter.write_text("low 0\noom 0\noom_kill 3\n")
    monkeypatch.setattr(out_of_memory, "_COUNTERS", (tmp_path / "absent", counter))
    killed = await run(f"sed -i 's/oom_kill 3/oom_kill 4/' {counter}; (exit 137)")
    later = await run("true")

    assert killed.exit_code == 137
    assert "ran out of memory" in killed.metadata.suffix
    assert "ran out of memory" not in later.metadata.suffix
