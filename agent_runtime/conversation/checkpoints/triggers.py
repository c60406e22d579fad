"""Makes checkpoints (snapshots of the workspace's files): one before the agent starts to work on a user's
message, and one when the agent has stopped.
"""

import asyncio

from agent_runtime.conversation.checkpoints.snapshots import Checkpoints, Position
from agent_runtime.conversation.event_log.state import State
from agent_runtime.conversation.run.background_tasks import Begin
from agent_runtime.conversation.run.model_input import ModelInput
from agent_runtime.events.message import MessageEvent
from agent_runtime.wire import CheckpointKind


class CheckpointTriggers:
    """An object that makes the checkpoints (snapshots of the workspace's files) of one conversation. A run is
    the work of the agent until it stops. Checkpoints are made when a run starts, when the user sends a
    message during the run, and when the run ends. While a checkpoint is being made, a request to the model
    may already be sent. Tool calls start only after the checkpoint is complete.
    """

    def __init__(self, model_input: ModelInput, checkpoints: Checkpoints, begin: Begin) -> None:
        """Stores the arguments and makes no checkpoint yet. `model_input`: the object from which the user's
        new messages are read. `checkpoints`: stores the checkpoints. `begin`: a function that starts a
        coroutine as a background task.
        """
        self._model_input = model_input
        self._checkpoints = checkpoints
        self._begin = begin
        self._noted_ids = {one.info.event_id for one in checkpoints.made}
        self._taking: asyncio.Task[None] | None = None
        self.is_ending = False
        """Whether the checkpoint (a snapshot of the files) at the end of a run (work of the agent) is being
        made now.
        """

    def begin(self) -> None:
        """Starts to make a checkpoint (a snapshot of the files) at the start of a run (the work of the agent
        until it stops). All changes of files since the last run count as changes by the user or other
        programs, not by the agent.
        """
        message = self._new_message()
        if message is None:
            self._take(CheckpointKind.EDITS, position(self._model_input.state), by_others=True)
        else:
            self._take(CheckpointKind.TURN, self._before(message), by_others=True)

    def steer(self) -> None:
        """Starts to make a checkpoint (a snapshot of the files) if the user has sent a message during the
        current run (work of the agent). The run calls this method before each request to the model.
        """
        message = self._new_message()
        if message is not None:
            self._take(CheckpointKind.TURN, self._before(message), by_others=False)

    async def ready(self) -> None:
        """If a checkpoint (a snapshot of the files) is being made, waits until it is complete. After that,
        tools may change files.
        """
        if self._taking is not None and not self._taking.done():
            await asyncio.wait([self._taking])

    async def end(self) -> None:
        """Makes a checkpoint (a snapshot of the files) after the end of a run (the work of the agent until it
        stops).
        """
        self.is_ending = True
        try:
            at = position(self._model_input.state)
            await self._checkpoints.take(CheckpointKind.END, at, by_others=False)
        finally:
            self.is_ending = False
        if self._checkpoints.is_untidy:
            self._begin(self._checkpoints.tidy(), "tidy checkpoints")

    def _new_message(self) -> MessageEvent | None:
        return self._model_input.first_unseen_message(self._noted_ids)

    def _before(self, message: MessageEvent) -> Position:
        # Other messages that wait together with this one belong to the same checkpoint.
        seqs = {event_id: seq for seq, event_id in self._model_input.state.unseen_messages}
        self._noted_ids |= seqs.keys()
        return Position(seq=seqs[message.id], leaf=message.parent_id, event_id=message.id)

    def _take(self, kind: CheckpointKind, at: Position, *, by_others: bool) -> None:
        work = self._checkpoints.take(kind, at, by_others=by_others)
        self._taking = self._begin(work, "checkpoint")


def position(state: State) -> Position:
    """Returns the current point in the conversation's log, which a checkpoint stores: the position of the
    last event, and the id of the last event of the current chat. The current chat does not contain the events
    that a return to an earlier event has abandoned.
    """
    return Position(seq=state.last_seq, leaf=state.leaf_event_id)
