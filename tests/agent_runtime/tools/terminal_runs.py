"""Helpers that run commands in a terminal."""

from collections.abc import Awaitable, Callable

from agent_runtime.tools.terminal.models import TerminalAction, TerminalObservation
from agent_runtime.tools.terminal.tool import TerminalTool

Run = Callable[..., Awaitable[TerminalObservation]]


def runner(terminal: TerminalTool) -> Run:
    async def run(command: str, **fields) -> TerminalObservation:
        return await terminal.run(TerminalAction(command=command, **fields))

    return run


async def run_until_shown(run: Run, command: str, text: str) -> TerminalObservation:
    """Starts a command and waits until it has printed `text`. Returns the last observation. The command must
    still run.
    """
    observation, seen = await run(command, timeout=0), ""
    while text not in (seen := seen + observation.text):
        assert observation.exit_code == -1, seen
        observation = await run("", timeout=0.05)
    assert observation.exit_code == -1, seen
    return observation
