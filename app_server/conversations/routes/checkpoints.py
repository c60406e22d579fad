"""Routes that list checkpoints of a conversation's workspace, compare the files with a checkpoint, and go
back to a checkpoint.
"""

from fastapi import APIRouter

from agent_runtime.wire import CheckpointDiff, CheckpointList, RewindRequest, RewindResult
from app_server.conversations.routes.dependencies import OwnedConversation, Viewer

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}/checkpoints", tags=["Conversations"])


@router.get("")
async def list_checkpoints(viewer: Viewer, conversation: OwnedConversation) -> CheckpointList:
    """Returns the checkpoints, oldest first. A `turn` checkpoint names the message that the agent then began
    to work on.
    """
    return await viewer.sandboxes.client(conversation.sandbox_id).checkpoints(conversation.id)


@router.get("/{checkpoint_id}/diff")
async def diff_checkpoint(
    viewer: Viewer, conversation: OwnedConversation, checkpoint_id: int
) -> CheckpointDiff:
    """Returns how the files differ now from this checkpoint: a rewind would undo these changes.

    409 `checkpoints_unavailable`.
    """
    return await viewer.sandboxes.client(conversation.sandbox_id).diff_checkpoint(
        conversation.id, checkpoint_id
    )


@router.post("/{checkpoint_id}/rewind")
async def rewind(
    viewer: Viewer, conversation: OwnedConversation, checkpoint_id: int, body: RewindRequest
) -> RewindResult:
    """Restores files, chat or both from a checkpoint. The current state is saved as a checkpoint first.

    409 `already_running`, `edited_since` (with `diff`), `checkpoints_unavailable`.
    """
    return await viewer.sandboxes.client(conversation.sandbox_id).rewind(conversation.id, checkpoint_id, body)
