"""Resets a conversation's files, its chat or both to a checkpoint (a stored snapshot). Such a reset is called
a rewind.
"""

import asyncio
from collections.abc import Collection

from agent_runtime.conversation.branches import go_back
from agent_runtime.conversation.checkpoints.restore import carry_out, tell
from agent_runtime.conversation.checkpoints.snapshots import (
    Checkpoint,
    Conflicts,
    Restoring,
    display_changes,
    display_paths,
    encode_path,
)
from agent_runtime.conversation.checkpoints.triggers import position
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import ConversationError, EditedSinceError, RewindIncompleteError
from agent_runtime.events.base import JsonObject
from agent_runtime.wire import CheckpointKind, RewindRequest, RewindResult


async def rewind(conversation: ConversationEngine, number: int, wanted: RewindRequest) -> RewindResult:
    """Resets the conversation to the checkpoint (a snapshot of the files with its point in the chat) with
    this number. Before that, makes a checkpoint of the current files, so that the user can undo the rewind.
    Cancelling the caller's wait does not stop the rewind. `wanted`: whether to reset the files, the chat or
    both, and what to do with files that the user has edited.

    Raises AlreadyRunningError while a run (work of the agent) is going on. Raises CheckpointNotFoundError if
    there is no such checkpoint. Raises CheckpointsUnavailableError if the files cannot be saved in a
    checkpoint. Raises RewindIncompleteError if some files could not be restored, or if the restored files
    could not be saved in a checkpoint.

    Raises EditedSinceError if `wanted` says to refuse the rewind when files cannot be restored safely, and
    there are such files: the user has edited them, or other files are in their way. Otherwise, the rewind
    leaves these files unchanged. After each error except RewindIncompleteError, the files and the chat are
    unchanged.
    """
    outcome: list[RewindResult | ConversationError] = []
    work = conversation.background.begin(_rewind_alone(conversation, number, wanted, outcome), "rewind")
    await asyncio.wait([work])
    match outcome:
        case [RewindResult() as result]:
            return result
        case [ConversationError() as refusal]:
            raise refusal
        case _:
            raise RewindIncompleteError


async def _rewind_alone(
    conversation: ConversationEngine,
    number: int,
    wanted: RewindRequest,
    outcome: list[RewindResult | ConversationError],
) -> None:
    async with conversation.checkpoints.lock:
        try:
            outcome.append(await _rewind(conversation, number, wanted))
        except ConversationError as refusal:
            outcome.append(refusal)
    conversation.publish_full_state()


async def _rewind(conversation: ConversationEngine, number: int, wanted: RewindRequest) -> RewindResult:
    conversation.require_rest()
    checkpoints = conversation.checkpoints
    target = checkpoints.get(number)
    found = await checkpoints.look()
    conflicts = await _conflicts(conversation, target, found.tree, wanted)
    leave = conflicts.edited | conflicts.blocked
    at, before = position(conversation.state), checkpoints.last_tree or found.tree
    safety = await checkpoints.add(CheckpointKind.REWIND, at, found, before=before)
    changes = await checkpoints.shadow.changes(found.tree, target.tree) if wanted.files else []
    # From here on nothing is awaited until the chat has gone back, so no other work can begin in between.
    conversation.require_rest()
    result = RewindResult(
        undo=safety.info.id,
        files=display_changes(change for change in changes if change.path not in leave),
        kept=display_paths(leave),
    )
    details = _details(target, wanted, result)
    intended = _intend(conversation, safety, target, leave, details) if wanted.files else None
    if wanted.chat and target.leaf != conversation.state.leaf_event_id:
        go_back(conversation, target.leaf)
    if intended is None:
        tell(conversation.run_context, details)
    else:
        await carry_out(conversation.run_context, checkpoints, intended)
    return result


def _intend(
    conversation: ConversationEngine,
    safety: Checkpoint,
    target: Checkpoint,
    leave: Collection[str],
    details: JsonObject,
) -> Checkpoint:
    """Stores the plan of a rewind (a reset to a checkpoint) before any file is changed, so that the rewind
    can be completed after a crash. The plan is stored in the checkpoint `safety`. Returns this checkpoint
    with the plan.

    `safety`: the checkpoint of the current files, which was made just before the rewind. `target`: the
    checkpoint to restore. `leave`: the paths that the rewind must not change. `details`: the description of
    the rewind that is logged when the rewind has ended.
    """
    restoring = Restoring(tree=target.tree, leave=sorted(map(encode_path, leave)), told=details)
    intended = safety.model_copy(update={"restoring": restoring})
    conversation.checkpoints.put(intended)
    return intended


async def _conflicts(
    conversation: ConversationEngine, target: Checkpoint, present: str, wanted: RewindRequest
) -> Conflicts:
    if not wanted.files:
        return Conflicts(frozenset(), frozenset())
    conflicts = await conversation.checkpoints.conflicts(target, present)
    if wanted.on_edits == "refuse" and (conflicts.edited or conflicts.blocked):
        names = display_paths(conflicts.edited | conflicts.blocked)
        listed = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
        raise EditedSinceError(
            f"Files were edited since, and not by the agent: {listed}.",
            await conversation.checkpoints.difference(target, present),
        )
    return conflicts


def _details(target: Checkpoint, wanted: RewindRequest, result: RewindResult) -> JsonObject:
    return {
        "checkpoint": target.info.id,
        "event_id": target.info.event_id,
        "undo": result.undo,
        "files": len(result.files) if wanted.files else None,
        "chat": wanted.chat,
        "kept": result.kept,
    }
