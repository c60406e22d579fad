"""Routes for checkpoints, which are saved states of a conversation's workspace. They list checkpoints,
compare the present files with a checkpoint, and restore a checkpoint.
"""

from fastapi import APIRouter

from agent_runtime.wire import CheckpointDiff, CheckpointList, RewindRequest, RewindResult
from app_server.conversations.routes.dependencies import OwnedConversation, Viewer

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}/checkpoints", tags=["Conversations"])


@router.get("")
async def list_checkpoints(viewer: Viewer, conversation: OwnedConversation) -> CheckpointList:
    """Returns the checkpoints of the workspace, oldest first. A checkpoint of the kind `turn` was saved
    before the agent began to work on a message; it names this message.
    """
    return await viewer.sandboxes.client(conversation.sandbox_id).checkpoints(conversation.id)


@router.get("/{checkpoint_id}/diff")
async def diff_checkpoint(
    viewer: Viewer, conversation: OwnedConversation, checkpoint_id: int
) -> CheckpointDiff:
    """Returns how the present files differ from this checkpoint. A rewind to the checkpoint would undo these
    changes.

    409 `checkpoints_unavailable`.
    """
    return await viewer.sandboxes.client(conversation.sandbox_id).diff_checkpoint(
        conversation.id, checkpoint_id
    )


@router.post("/{checkpoint_id}/rewind")
async def rewind(
    viewer: Viewer, conversation: OwnedConversation, checkpoint_id: int, body: RewindRequest
) -> RewindResult:
    """Restores the files, the chat or both from a checkpoint. Before that, saves the present state as another
    checkpoint.

    409 `already_running`, `edited_since` (with `diff`), `checkpoints_unavailable`.
    """
    return await viewer.sandboxes.client(conversation.sandbox_id).rewind(conversation.id, checkpoint_id, body)
