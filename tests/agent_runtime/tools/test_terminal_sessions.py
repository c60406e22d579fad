"""Tests of several shells in parallel. Each has a separate state, running command and input."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from agent_runtime.tools.arguments import ToolArgumentError, model_schema, parse_arguments
from agent_runtime.tools.claims import conflict
from agent_runtime.tools.registry import ToolNotFoundError, ToolSpec, create_tools
from agent_runtime.tools.terminal.models import TerminalObservation
from agent_runtime.tools.terminal.tool import TerminalTool
from agent_runtime.tools.tool import ToolContext

Run = Callable[..., Awaitable[TerminalObservation]]


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[TerminalTool]:
    context = ToolContext(tmp_path, tmp_path / "state")
    tool = TerminalTool(context, sessions=3, quiet_seconds=0.6, settle_seconds=0.2)
    yield tool
    await tool.close()


@pytest.fixture
def run(terminal: TerminalTool) -> Run:
    async def run(command: str, **fields) -> TerminalObservation:
        return await terminal.run(parse_arguments(terminal, {"command": command, **fields}))

    return run


async def test_each_session_has_its_own_directory_and_variables(run: Run, tmp_path: Path):
    await run("mkdir sub; cd sub; X=1", session="a")

    elsewhere = await run("echo ${X-unset}; pwd", session="b")
    again = await run("echo $X; pwd", session="a")

    assert elsewhere.text == f"unset\n{tmp_path}"
    assert again.text == f"1\n{tmp_path}/sub"


async def test_a_running_command_of_one_session_is_polled_and_answered_beside_another(run: Run):
    asked = await run("read -p 'name? ' n; echo hello $n", session="asking")

    other = await run("echo free")
    answered = await run("you", is_input=True, session="asking")

    assert (asked.text, asked.exit_code) == ("name? ", -1)
    assert other.text == "free"
    assert (answered.text, answered.exit_code) == ("hello you", 0)


async def test_no_more_sessions_than_allowed_and_one_that_was_ended_makes_room(run: Run):
    await run("sleep 60", session="server", timeout=0)
    for name in ("a", "b"):
        await run("true", session=name)

    refused = await run("echo no", session="c")
    ended = await run("", session="server", reset=True)
    allowed = await run("echo yes", session="c")

    assert refused.is_error
    assert "server (sleep 60); a (free); b (free)" in refused.text
    assert not ended.is_error
    assert allowed.text == "yes"


async def test_input_for_a_session_that_does_not_exist_is_refused_and_starts_no_session(run: Run):
    for name in "abcd":
        assert "No command is running" in (await run("x", is_input=True, session=name)).text
    assert (await run("echo ok", session="e")).text == "ok"


async def test_closing_ends_every_session(run: Run, terminal: TerminalTool):
    shells = [int((await run("echo $$", session=name)).text) for name in ("a", "b")]

    await terminal.close()

    for shell in shells:
        with pytest.raises(ProcessLookupError):
            os.kill(shell, 0)


def test_sessions_are_offered_only_when_asked_for(tmp_path: Path):
    def schema(params):
        spec = ToolSpec(name="terminal", params=params)
        tool = create_tools([spec], ToolContext(tmp_path, tmp_path))["terminal"]
        function = model_schema(tool)["function"]
        assert isinstance(function, dict)
        return set(function["parameters"]["properties"]), "side by side" in function["description"]

    plain, told = schema({})
    assert (plain, told) == schema({"sessions": 1}) == (plain, False)
    assert schema({"sessions": 4}) == (plain | {"session"}, True)


@pytest.mark.parametrize("sessions", [0, 17, "4", True, 2.5])
def test_a_number_of_sessions_that_cannot_be_is_refused(tmp_path: Path, sessions):
    spec = ToolSpec(name="terminal", params={"sessions": sessions})
    with pytest.raises(ToolNotFoundError, match="sessions"):
        create_tools([spec], ToolContext(tmp_path, tmp_path))


@pytest.mark.parametrize("name", ["", "two words", "../up", "x" * 33])
def test_a_name_that_cannot_be_is_explained(terminal: TerminalTool, name):
    with pytest.raises(ToolArgumentError, match="session"):
        parse_arguments(terminal, {"command": "ls", "session": name})


def test_commands_of_different_sessions_do_not_wait_for_each_other(terminal: TerminalTool):
    def claims(session):
        return terminal.claims(parse_arguments(terminal, {"command": "ls", "session": session}))

    assert not conflict(claims("a"), claims("b"))
    assert conflict(claims("a"), claims("a"))
