"""Restores the files of a workspace from a checkpoint. If the server stops before all files are restored, the
remaining files are restored when the server loads the conversation again.
"""

import logging

from agent_runtime.conversation.checkpoints.snapshots import Checkpoint, Checkpoints, Restoring, read
from agent_runtime.conversation.checkpoints.triggers import position
from agent_runtime.conversation.errors import CheckpointsUnavailableError, RewindIncompleteError
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.events.base import JsonObject
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.wire import CheckpointKind
from agent_runtime.workspace.git import GitError

logger = logging.getLogger(__name__)

REWIND = "rewind"
"""The name of a field in the JSON value of the state update events whose key is `agent_state`. The field
contains the details of a rewind (a reset of the files or the chat to a checkpoint).
"""


def tell(context: RunContext, what: JsonObject) -> None:
    """Logs a rewind (a reset of the conversation's files or chat to a checkpoint). `what`: the details of the
    rewind, as they appear in the log.
    """
    context.emit(ConversationStateUpdateEvent(key="agent_state", value={REWIND: what}))


async def carry_out(context: RunContext, checkpoints: Checkpoints, intended: Checkpoint) -> None:
    """Restores the files for a rewind (a reset to a checkpoint), and logs the rewind. `intended`: the
    checkpoint in which the details of the rewind are stored. The caller must hold the lock of `checkpoints`.
    Raises RewindIncompleteError if some files could not be restored. Raises CheckpointsUnavailableError if
    the files after the rewind could not be saved in a checkpoint.
    """
    assert intended.restoring is not None
    failure, expected = None, None
    try:
        expected = await _put_back(checkpoints, intended, intended.restoring)
    except (GitError, OSError) as error:
        failure = error
    found = await checkpoints.look()
    at = position(context.state)
    await checkpoints.add(CheckpointKind.REWOUND, at, found, before=expected or found.tree)
    checkpoints.put(intended.model_copy(update={"restoring": None}))
    tell(context, intended.restoring.told)
    if failure is not None:
        raise RewindIncompleteError(f"Not all files could be put back: {failure}") from failure


async def complete(context: RunContext, checkpoints: Checkpoints) -> None:
    """Completes a rewind (a reset to a checkpoint) that a crash has interrupted. Does nothing if there is no
    such rewind.
    """
    async with checkpoints.lock:
        for intended in [one for one in checkpoints.made if one.restoring is not None]:
            try:
                await carry_out(context, checkpoints, intended)
            except (RewindIncompleteError, CheckpointsUnavailableError) as error:
                logger.warning("a rewind that was cut off cannot be completed: %s", error)


async def _put_back(checkpoints: Checkpoints, intended: Checkpoint, wanted: Restoring) -> str:
    """Restores the files for a rewind (a reset to a checkpoint). Returns the hash of the git tree that the
    workspace contains after a complete rewind. `intended`: the checkpoint of the files before the rewind.
    `wanted`: the git tree to restore, and the paths to leave unchanged.
    """
    shadow, leave = checkpoints.shadow, set(map(read, wanted.leave))
    # Files that already differ from the intended start were restored before the interruption, or were edited
    # after it.
    now = (await checkpoints.look()).tree
    done = {change.path for change in await shadow.changes(intended.tree, now)}
    await shadow.restore(intended.tree, wanted.tree, leave | done)
    return await shadow.mixed(wanted.tree, intended.tree, leave)
