"""Makes checkpoints: before the agent works on a message of the user, and when the work has ended."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from agent_runtime.conversation.checkpoints.snapshots import Checkpoints, Position
from agent_runtime.conversation.run.context import Running
from agent_runtime.events.message import MessageEvent
from agent_runtime.wire import CheckpointKind

Begin = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]


class Turns:
    """Makes the checkpoints of a conversation's turns. The model is asked meanwhile; only tools wait for the
    checkpoint.
    """

    def __init__(self, conversation: Running, checkpoints: Checkpoints, begin: Begin) -> None:
        """`begin`: starts and owns the background tasks."""
        self._conversation = conversation
        self._checkpoints = checkpoints
        self._begin = begin
        self._noted = {one.info.event_id for one in checkpoints.made}
        self._taking: asyncio.Task[None] | None = None
        self.is_ending = False
        """True while the checkpoint at the end of the agent's work is made."""

    def begin(self) -> None:
        """Makes a checkpoint at the start of a run. All changes since the last run were made by others than
        the agent.
        """
        message = self._new_message()
        if message is None:
            self._take(CheckpointKind.EDITS, position(self._conversation), by_others=True)
        else:
            self._take(CheckpointKind.TURN, self._before(message), by_others=True)

    def steer(self) -> None:
        """Makes a checkpoint before the model is asked, if the user has sent a message during the agent's
        work.
        """
        message = self._new_message()
        if message is not None:
            self._take(CheckpointKind.TURN, self._before(message), by_others=False)

    async def ready(self) -> None:
        """Waits until the checkpoint is made and files may be changed."""
        if self._taking is not None and not self._taking.done():
            await asyncio.wait([self._taking])

    async def end(self) -> None:
        """Makes a checkpoint when the agent has ended its work or was stopped."""
        self.is_ending = True
        try:
            await self._checkpoints.take(CheckpointKind.END, position(self._conversation), by_others=False)
        finally:
            self.is_ending = False
        if self._checkpoints.is_untidy:
            self._begin(self._checkpoints.tidy(), "tidy checkpoints")

    def _new_message(self) -> MessageEvent | None:
        return self._conversation.first_unseen_message(self._noted)

    def _before(self, message: MessageEvent) -> Position:
        # Those that wait with it belong to the same turn.
        seqs = {event_id: seq for seq, event_id in self._conversation.state.unseen_messages}
        self._noted |= seqs.keys()
        return Position(seq=seqs[message.id], leaf=message.parent_id, event_id=message.id)

    def _take(self, kind: CheckpointKind, at: Position, *, by_others: bool) -> None:
        work = self._checkpoints.take(kind, at, by_others=by_others)
        self._taking = self._begin(work, "checkpoint")


def position(conversation: Running) -> Position:
    """Returns the current position of the conversation."""
    return Position(seq=conversation.state.last_seq, leaf=conversation.state.leaf_event_id)
