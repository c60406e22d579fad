"""Tests of the terminal tool as a model uses it, with a real bash on a real pseudo-terminal.

Left: cases that other agents' terminals handle wrongly. Right: our test of each case.

exit codes, several lines, here-documents, UTF-8   test_a_command_gives_its_output_and_exit_code
directories with blanks, variables, functions      test_directory_variables_functions_and_options_stay
latency                                            test_commands_answer_without_waiting_for_a_clock
unbalanced quotes, then the next command           test_an_unbalanced_quote_is_a_syntax_error_...
command lines of 20 KB                             test_a_command_line_of_20_kilobytes_is_one_command
10 MB of output                                    test_ten_megabytes_of_output_are_cut_...
random bytes                                       test_random_bytes_do_not_disturb_the_next_command
a prompt and its answer                            test_a_prompt_is_shown_and_can_be_answered
is a terminal; a pager and its key                 test_a_program_that_takes_the_whole_screen_...
Ctrl-C, Ctrl-D (cat without input), Ctrl-Z         test_keys_reach_the_running_command
Ctrl-C in a loop of the shell                      test_ctrl_c_ends_a_loop_of_the_shell_itself
soft and hard time limits, polling                 test_output_resets_..., test_a_timeout_leaves_...,
                                                   test_an_empty_command_waits_for_more_...
background jobs and their late output              test_background_jobs_return_at_once_...
`exit 7`, `exec`, `set -e; false`                  test_a_shell_that_ends_is_replaced_where_it_was
PS1, PROMPT_COMMAND and traps of the user          test_settings_of_the_shell_do_not_break_it
a program that ignores Ctrl-C                      test_cancelling_ends_a_command_that_ignores_ctrl_c
process groups at the end                          test_closing_ends_everything_the_shell_started
several shells                                     test_terminal_sessions.py
random programs compared with bash                 test_terminal_against_bash.py
"""

import asyncio
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agent_runtime.tools.terminal import pty_shell
from agent_runtime.tools.terminal.tool import TerminalTool
from agent_runtime.tools.tool import ToolContext
from tests.agent_runtime.tools.terminal_runs import Run, run_until_shown, runner
from tests.support.patience import PATIENCE_SECONDS


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[TerminalTool]:
    workspace = tmp_path / "work space"
    workspace.mkdir()
    # These limits are never reached. A test that lets a command run on gives a timeout.
    context = ToolContext(workspace, tmp_path / "state")
    tool = TerminalTool(context, quiet_seconds=PATIENCE_SECONDS, settle_seconds=PATIENCE_SECONDS)
    yield tool
    await tool.close()


@pytest.fixture
def run(terminal: TerminalTool) -> Run:
    return runner(terminal)


@pytest.mark.parametrize(
    ("command", "text", "exit_code"),
    [
        ("echo hi", "hi", 0),
        ("true", "", 0),
        ("false", "", 1),
        ("sh -c 'exit 42'", "", 42),
        ("no-such-command-here", "bash: no-such-command-here: command not found", 127),
        ("printf 'no newline'", "no newline", 0),
        ("echo out; echo err >&2", "out\nerr", 0),
        ("for i in 1 2 3; do\n  echo $i\ndone\necho end", "1\n2\n3\nend", 0),
        ("sleep 0.1\necho one\nsleep 0.1\necho two", "one\ntwo", 0),
        ("cat <<'EOF'\n$HOME `x` \"q\"\n  indented\nEOF", '$HOME `x` "q"\n  indented', 0),
        ("test -t 0 && test -t 1 && echo a tty", "a tty", 0),
        ("echo 'Grüße 你好 🎉'", "Grüße 你好 🎉", 0),
        (r"printf '\e[31mred\e[0m \e]0;title\a\e[1;5Hplain\n'", "red plain", 0),
        (r"printf '10%%\r50%%\r100%%\ndone\n'", "100%\ndone", 0),
        (r"printf 'dos\r\nline\r\n'", "dos\nline", 0),
        (r"printf 'abd\bc\n'", "abc", 0),
        ("printf 'a\\tb\\n'", "a\tb", 0),
        ("git --no-pager --version >/dev/null && echo $PAGER-$GIT_PAGER", "cat-cat", 0),
        ("return 3", "", 3),
        ("# only a comment", "", 0),
        ("kill -TERM $BASHPID & wait $!", None, 143),
    ],
)
async def test_a_command_gives_its_output_and_exit_code(run: Run, command, text, exit_code):
    observation = await run(command)
    assert observation.exit_code == observation.metadata.exit_code == exit_code
    assert not observation.timeout
    assert not observation.is_error
    if text is not None:
        assert observation.text == text


async def test_the_observation_looks_as_on_the_wire(run: Run, terminal, tmp_path: Path):
    wire = (await run("echo hi")).to_wire()
    assert list(wire) == [
        "content", "is_error", "command", "exit_code", "timeout", "metadata", "full_output_save_dir", "kind",
    ]  # fmt: skip
    assert wire["content"] == [{"cache_prompt": False, "type": "text", "text": "hi"}]
    assert wire["command"] == "echo hi"
    assert wire["kind"] == "TerminalObservation"
    assert wire["full_output_save_dir"] == str(tmp_path / "state" / "observations")
    metadata = wire["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["working_dir"] == str(tmp_path / "work space")
    assert metadata["suffix"] == "\n[The command completed with exit code 0.]"
    assert metadata["py_interpreter_path"]


async def test_directory_variables_functions_and_options_stay(run: Run, tmp_path: Path):
    await run("mkdir sub && cd sub && export A=1 && B=2 && f() { echo f-$1; }")
    observation = await run("echo $A$B; f x; pwd")
    assert observation.text == f"12\nf-x\n{tmp_path}/work space/sub"
    assert observation.metadata.working_dir == f"{tmp_path}/work space/sub"


async def test_the_last_exit_code_is_there_for_the_next_command(run: Run):
    await run("(exit 3)")
    assert (await run("echo $?")).text == "3"
    await run("set -u; set -o pipefail; false")
    assert (await run("echo $?")).text == "1"


async def test_an_unbalanced_quote_is_a_syntax_error_and_the_next_command_runs(run: Run):
    broken = await run("echo 'oops")
    assert broken.exit_code in {1, 2}
    assert "unexpected EOF" in broken.text
    assert "slipway" not in broken.text
    assert (await run("echo fine")).text == "fine"


async def test_a_command_line_of_20_kilobytes_is_one_command(run: Run):
    assert (await run("echo " + "x" * 20_000 + " | wc -c")).text.strip() == "20001"


async def test_ten_megabytes_of_output_are_cut_in_the_middle_and_saved_whole(run: Run, tmp_path: Path):
    observation = await run("seq 1 1400000", timeout=PATIENCE_SECONDS)
    lines = observation.text.splitlines()
    assert len(observation.text) < 31_000
    assert lines[0] == "1"
    assert lines[-1] == "1400000"
    saved = next((tmp_path / "state" / "observations").iterdir())
    assert str(saved) in observation.text
    assert saved.read_text() == "".join(f"{n}\n" for n in range(1, 1_400_001))


async def test_random_bytes_do_not_disturb_the_next_command(run: Run):
    assert (await run("head -c 200000 /dev/urandom", timeout=PATIENCE_SECONDS)).exit_code == 0
    assert (await run("echo still here")).text == "still here"


async def test_characters_split_over_writes_arrive_whole(run: Run):
    assert (await run(r"printf '\xe2\x82'; sleep 0.1; printf '\xac\n'")).text == "€"


async def test_a_prompt_is_shown_and_can_be_answered(run: Run):
    asked = await run_until_shown(run, f'{sys.executable} -c \'print("hello " + input("name? "))\'', "name? ")
    assert asked.timeout
    assert "is_input" in asked.metadata.suffix
    answered = await run("Ada", is_input=True)
    assert answered.text == "hello Ada"
    assert answered.exit_code == 0


@pytest.mark.parametrize(
    ("command", "key", "exit_code"),
    [("sleep 600", "C-c", 130), ("cat", "C-d", 0), ("sleep 600", "C-z", 148), ("sleep 600", "C-\\", 131)],
)
async def test_keys_reach_the_running_command(run: Run, command, key, exit_code):
    await run_until_shown(run, f"sh -c 'echo up; exec {command}'", "up")
    assert (await run(key, is_input=True)).exit_code == exit_code
    assert (await run("echo next")).text.splitlines()[-1] == "next"


@pytest.fixture
def started_in_the_background() -> Iterator[None]:
    """Makes this process ignore SIGINT, SIGQUIT and SIGHUP, like a server that was started
    with `nohup … &`.
    """
    ignored = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ignored}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("started_in_the_background")
@pytest.mark.parametrize(("key", "exit_code"), [("C-c", 130), ("C-\\", 131)])
async def test_keys_reach_commands_of_a_server_that_was_started_in_the_background(run: Run, key, exit_code):
    await run_until_shown(run, "sh -c 'echo up; exec sleep 600'", "up")
    assert (await run(key, is_input=True)).exit_code == exit_code


async def test_arrow_keys_arrive_as_their_sequences(run: Run):
    read = "print(ascii(sys.stdin.buffer.read1(8)))"
    program = f"import sys,tty; tty.setraw(0); print('up', end='', flush=True); {read}"
    await run_until_shown(run, f'{sys.executable} -c "{program}"', "up")
    assert (await run("UP", is_input=True)).text == "b'\\x1b[A'"


@pytest.mark.skipif(shutil.which("less") is None, reason="needs less")
async def test_a_program_that_takes_the_whole_screen_can_be_left_by_its_key(run: Run):
    await run_until_shown(run, "seq 1 1000 > numbers; less numbers", "numbers")
    assert (await run("q", is_input=True)).exit_code == 0
    assert (await run("echo next")).text.splitlines()[-1] == "next"


async def test_a_trap_of_the_user_does_not_keep_ctrl_c_from_the_next_command(run: Run):
    await run("trap 'echo trapped' INT")
    await run_until_shown(run, "sh -c 'echo up; exec sleep 600'", "up")
    stopped = await run("C-c", is_input=True)
    assert stopped.exit_code == 130
    assert (await run("echo next")).text.splitlines()[-1] == "next"


async def test_commands_answer_without_waiting_for_a_clock(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pty_shell, "MARK_GRACE_SECONDS", PATIENCE_SECONDS)
    async with asyncio.timeout(PATIENCE_SECONDS):
        for _ in range(50):
            assert (await run("true")).exit_code == 0


async def test_ctrl_c_ends_a_loop_of_the_shell_itself(run: Run):
    await run_until_shown(run, "echo up; while :; do sleep 0.2; done", "up")
    assert (await run("C-c", is_input=True)).exit_code == 130
