"""The workspace as it was, turn by turn, and going back there."""

from fastapi import APIRouter

from agent_runtime.wire import CheckpointDiff, CheckpointList, RewindRequest, RewindResult
from app_server.conversations.routes.dependencies import OwnedConversation, Viewer

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}/checkpoints", tags=["Conversations"])


@router.get("")
async def list_checkpoints(viewer: Viewer, conversation: OwnedConversation) -> CheckpointList:
    """Oldest first; `turn` ones name the message that the agent began to work on then."""
    return await viewer.sandboxes.client(conversation.sandbox_id).checkpoints(conversation.id)


@router.get("/{checkpoint_id}/diff")
async def diff_checkpoint(
    viewer: Viewer, conversation: OwnedConversation, checkpoint_id: int
) -> CheckpointDiff:
    """What has become of the files since: what a rewind would undo. 409 `checkpoints_unavailable`."""
    return await viewer.sandboxes.client(conversation.sandbox_id).diff_checkpoint(
        conversation.id, checkpoint_id
    )


@router.post("/{checkpoint_id}/rewind")
async def rewind(
    viewer: Viewer, conversation: OwnedConversation, checkpoint_id: int, body: RewindRequest
) -> RewindResult:
    """Puts back files, chat or both; what is there now becomes a checkpoint first.

    409 `already_running`, `edited_since` (with `diff`), `checkpoints_unavailable`.
    """
    return await viewer.sandboxes.client(conversation.sandbox_id).rewind(conversation.id, checkpoint_id, body)
