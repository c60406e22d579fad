"""Restores the files of a workspace from a checkpoint. If the server stops before all files are restored, the
remaining files are restored when the server loads the conversation again.
"""

import logging

from agent_runtime.conversation.checkpoints.snapshots import Checkpoint, Checkpoints, Restoring, decode_path
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
    checkpoint that was made just before the rewind; its field `restoring` contains the plan of the rewind.
    The caller must hold the lock of `checkpoints`.

    Raises RewindIncompleteError if some files could not be restored, or if the restored files could not be
    saved in a checkpoint. Even then, the rewind is logged and its plan is deleted, so that the next start of
    the server does not repeat the rewind.
    """
    assert intended.restoring is not None
    problem: str | None = None
    expected: str | None = None
    try:
        expected = await _put_back(checkpoints, intended, intended.restoring)
    except (GitError, OSError, CheckpointsUnavailableError) as error:
        problem = f"Not all files could be put back: {error}"
    try:
        await _save(context, checkpoints, expected)
    except CheckpointsUnavailableError as error:
        problem = problem or f"All files were put back, but the result could not be saved: {error}"
    checkpoints.put(intended.model_copy(update={"restoring": None}))
    tell(context, intended.restoring.told)
    if problem is not None:
        raise RewindIncompleteError(problem)


async def complete(context: RunContext, checkpoints: Checkpoints) -> None:
    """Completes a rewind (a reset to a checkpoint) that a crash has interrupted. Does nothing if there is no
    such rewind.
    """
    async with checkpoints.lock:
        for intended in [one for one in checkpoints.made if one.restoring is not None]:
            try:
                # Without this check, a workspace that cannot be read now would end the rewind.
                await checkpoints.look()
                await carry_out(context, checkpoints, intended)
            except (RewindIncompleteError, CheckpointsUnavailableError) as error:
                logger.warning("a rewind that was cut off cannot be completed: %s", error)


async def _save(context: RunContext, checkpoints: Checkpoints, expected: str | None) -> None:
    """Saves the files in a new checkpoint after a rewind (a reset to an earlier checkpoint).

    `expected`: the hash of the git tree that the rewind has restored; None if some files could not be
    restored. If the present files cannot be saved, for example because too many of them are new, the tree
    `expected` is used in their place. The new checkpoint also contains this hash as `before`, to show what
    the user or another program has edited since. Raises CheckpointsUnavailableError if nothing can be saved.
    """
    try:
        found = await checkpoints.look()
    except CheckpointsUnavailableError:
        if expected is None:
            raise
        # A rewind may restore more files at once than a snapshot may add. git has stored these files already.
        found = await checkpoints.adopt(expected)
    at = position(context.state)
    await checkpoints.add(CheckpointKind.REWOUND, at, found, before=expected or found.tree)


async def _put_back(checkpoints: Checkpoints, intended: Checkpoint, wanted: Restoring) -> str:
    """Restores the files for a rewind (a reset to a checkpoint). If a crash has interrupted the rewind,
    restores the remaining files. Returns the hash of a git tree with the expected result: the files of
    `wanted.tree`, and the paths in `wanted.leave` as they were before the rewind.

    `intended`: the checkpoint of the files as they were just before the rewind. `wanted`: the git tree to
    restore, and the paths to leave unchanged.
    """
    shadow, leave = checkpoints.shadow, set(map(decode_path, wanted.leave))
    # Files that already differ from the intended start were restored before the interruption, or were edited
    # after it.
    now = (await checkpoints.look()).tree
    done = {change.path for change in await shadow.changes(intended.tree, now)}
    await shadow.restore(intended.tree, wanted.tree, leave | done)
    return await shadow.mixed(wanted.tree, intended.tree, leave)
