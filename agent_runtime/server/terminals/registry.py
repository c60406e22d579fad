"""Keeps the terminals of people: one for each conversation."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from uuid import UUID

from agent_runtime.server.terminals.user_terminal import Size, UserTerminal, Viewer

KEPT_SECONDS: Final = 1800.0
"""How long a terminal without a viewer is kept."""


class UserTerminals:
    """The terminals of people, by the id of their conversation. `kept_seconds`: how long a terminal without a
    viewer is kept.
    """

    def __init__(self, kept_seconds: float = KEPT_SECONDS) -> None:
        self._kept_seconds = kept_seconds
        self._terminals: dict[UUID, UserTerminal] = {}
        self._lock = asyncio.Lock()
        self._endings: dict[UUID, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def viewed(
        self, conversation_id: UUID, working_dir: Path, size: Size
    ) -> AsyncIterator[tuple[UserTerminal, Viewer]]:
        """Yields the terminal of a conversation, with a viewer of its output. Starts a shell in `working_dir`
        if none is running. Raises OSError if the shell cannot be started.
        """
        # Two browsers that connect at the same moment get the same shell.
        async with self._lock:
            terminal = self._terminals.get(conversation_id)
            if terminal is None or not terminal.is_running:
                await self.end(conversation_id)
                terminal = self._terminals[conversation_id] = await UserTerminal.start(working_dir, size)
            viewer = terminal.add_viewer()
        self._keep(conversation_id)
        try:
            yield terminal, viewer
        finally:
            terminal.remove_viewer(viewer)
            self._end_later(conversation_id, terminal)

    async def end(self, conversation_id: UUID) -> None:
        """Ends the terminal of a conversation and its programs. Does nothing if there is none."""
        self._keep(conversation_id)
        terminal = self._terminals.pop(conversation_id, None)
        if terminal is not None:
            await terminal.close()

    async def close(self) -> None:
        await asyncio.gather(*map(self.end, list(self._terminals)))
        await asyncio.gather(*self._tasks)

    def _keep(self, conversation_id: UUID) -> None:
        if ending := self._endings.pop(conversation_id, None):
            ending.cancel()

    def _end_later(self, conversation_id: UUID, terminal: UserTerminal) -> None:
        if terminal.is_viewed or self._terminals.get(conversation_id) is not terminal:
            return
        seconds = self._kept_seconds if terminal.is_running else 0
        self._keep(conversation_id)
        self._endings[conversation_id] = asyncio.get_running_loop().call_later(
            seconds, self._begin_to_end, conversation_id, terminal
        )

    def _begin_to_end(self, conversation_id: UUID, terminal: UserTerminal) -> None:
        task = asyncio.create_task(
            self._end_unviewed(conversation_id, terminal), name=f"ending terminal {conversation_id}"
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _end_unviewed(self, conversation_id: UUID, terminal: UserTerminal) -> None:
        if not terminal.is_viewed and self._terminals.get(conversation_id) is terminal:
            await self.end(conversation_id)
