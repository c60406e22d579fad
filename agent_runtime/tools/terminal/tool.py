"""Contains the terminal tool. A conversation has one persistent bash, or several if the parameter `sessions`
is greater than 1.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from pydantic import JsonValue

from agent_runtime.events.action import ActionEvent
from agent_runtime.tools.claims import Claim
from agent_runtime.tools.effects import Effect, RunsCommand, RunsProgram
from agent_runtime.tools.live_output import OutputTail
from agent_runtime.tools.terminal import named
from agent_runtime.tools.terminal.description import DESCRIPTION, SESSIONS
from agent_runtime.tools.terminal.models import (
    QUIET_SECONDS,
    SETTLE_SECONDS,
    TerminalAction,
    TerminalObservation,
)
from agent_runtime.tools.terminal.named_paths import named_paths
from agent_runtime.tools.terminal.session import TerminalSession
from agent_runtime.tools.tool import Tool, ToolAnnotations, ToolContext

MAX_SESSIONS = 16


class TerminalTool(Tool[TerminalAction]):
    name = "terminal"
    annotations = ToolAnnotations(
        title="terminal", readOnlyHint=False, destructiveHint=True, idempotentHint=False, openWorldHint=True
    )

    def __init__(
        self,
        context: ToolContext,
        *,
        sessions: int = 1,
        quiet_seconds: float = QUIET_SECONDS,
        settle_seconds: float = SETTLE_SECONDS,
    ) -> None:
        """Creates the tool. Each shell starts with its first command.

        `sessions`: the largest number of shells, 1 to MAX_SESSIONS; other numbers raise ValueError.
        `quiet_seconds`: if a running command prints nothing for this time, the call returns the output so
        far, and the command continues. `settle_seconds`: the same limit for a call that sends input to a
        running command or waits for more of its output; it applies as soon as the command has printed
        something. Both limits apply only to calls without `timeout`.
        """
        if not 1 <= sessions <= MAX_SESSIONS:
            raise ValueError(f"`sessions` of the terminal must be 1 to {MAX_SESSIONS}, not {sessions}.")
        self._start_dir = context.working_dir
        self._live = context.live
        self._max_sessions = sessions
        self._quiet_seconds = quiet_seconds
        self._new = partial(
            TerminalSession, context, quiet_seconds=quiet_seconds, settle_seconds=settle_seconds
        )
        self._sessions: dict[str, TerminalSession] = {}
        if sessions > 1:
            self.action_type = named.NamedTerminalAction

    @property
    def description(self) -> str:
        text = DESCRIPTION.format(quiet_seconds=self._quiet_seconds, working_dir=self._start_dir)
        return text + (SESSIONS.format(max_sessions=self._max_sessions) if self._max_sessions > 1 else "")

    def claims(self, action: TerminalAction) -> Sequence[Claim]:
        """Returns a claim that lets commands in different shells run at the same time. Commands in one shell
        run one after another. A claim states which resources a call uses; calls with conflicting claims do
        not run at the same time.

        The claim names a lane, which is a group of calls. Calls in different lanes never conflict. So each
        shell has a separate lane.
        """
        return (Claim(lane=f"terminal {named.session_of(action)}"),)

    def touches(self, action: TerminalAction, observation: Mapping[str, JsonValue]) -> Sequence[Path]:
        metadata = observation.get("metadata")
        ended_in = metadata.get("working_dir") if isinstance(metadata, dict) else None
        return named_paths(
            "" if action.is_input else action.command,
            started_in=self._start_dir,
            ended_in=Path(ended_in) if isinstance(ended_in, str) else self._start_dir,
        )

    def effects(self, action: TerminalAction) -> Sequence[Effect]:
        command = RunsCommand(action.command)
        # The running program may be a shell or an interpreter, which would run the typed text.
        return (command, RunsProgram(action.command)) if action.is_input else (command,)

    async def handle(self, event: ActionEvent) -> TerminalObservation:
        action = self.action_type.of(event)
        with self._live.showing(event.id, partial(self._peek, named.session_of(action))):
            return await self.run(action)

    async def run(self, action: TerminalAction) -> TerminalObservation:
        name = named.session_of(action)
        session = self._sessions.get(name)
        if session is None:
            if len(self._sessions) >= self._max_sessions:
                return named.too_many(action, self._running())
            session = self._sessions[name] = self._new()
        try:
            return await session.run(action)
        finally:
            if not session.is_open and self._sessions.get(name) is session:
                del self._sessions[name]

    def holds_work(self) -> bool:
        return any(session.has_jobs for session in self._sessions.values())

    async def close(self) -> None:
        sessions, self._sessions = list(self._sessions.values()), {}
        await asyncio.gather(*(session.close() for session in sessions))

    def _peek(self, name: str, max_chars: int) -> OutputTail:
        session = self._sessions.get(name)
        return session.peek(max_chars) if session else OutputTail("")

    def _running(self) -> dict[str, str | None]:
        return {name: session.running for name, session in self._sessions.items()}
