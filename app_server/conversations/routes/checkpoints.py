"""Routes for the checkpoints (saved states) of a conversation's files. A user lists checkpoints, compares the
current files with a checkpoint, and restores a checkpoint.
"""

from fastapi import APIRouter

from agent_runtime import wire
from agent_runtime.wire import CheckpointDiff, CheckpointList, RewindResult
from app_server.conversations.routes.dependencies import OwnedConversation, Viewer
from app_server.http.strict_body import StrictBody

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}/checkpoints", tags=["Conversations"])


class RewindRequest(wire.RewindRequest, StrictBody):
    """The request body of a rewind: whether the files, the chat or both are reset to the checkpoint.

    `on_edits`: `refuse` refuses the rewind if it would change files that the user has edited; `keep` does not
    change these files.
    """


@router.get("")
async def list_checkpoints(viewer: Viewer, conversation: OwnedConversation) -> CheckpointList:
    """Returns the checkpoints (saved states) of the conversation's files, oldest first. A checkpoint of the
    kind `turn` was made when the agent began to work on a message, and names this message.
    """
    return await viewer.sandboxes.client(conversation.sandbox_id).checkpoints(conversation.id)


@router.get("/{checkpoint_id}/diff")
async def diff_checkpoint(
    viewer: Viewer, conversation: OwnedConversation, checkpoint_id: int
) -> CheckpointDiff:
    """Returns the differences between the current files and the files in this checkpoint (a saved state of
    the files). A rewind to this checkpoint would undo these differences.

    409 `checkpoints_unavailable` if the current files cannot be saved in a checkpoint for the comparison.
    """
    return await viewer.sandboxes.client(conversation.sandbox_id).diff_checkpoint(
        conversation.id, checkpoint_id
    )


@router.post("/{checkpoint_id}/rewind")
async def rewind(
    viewer: Viewer, conversation: OwnedConversation, checkpoint_id: int, body: RewindRequest
) -> RewindResult:
    """Restores the files, the messages of the conversation, or both from a checkpoint (a saved state). The
    current state is saved as a new checkpoint first, so that the user can undo the change.

    409 `already_running` if the agent works. 409 `edited_since` if the restored files would overwrite edits
    that the user or another program has made to files; `diff` in this reply lists the changes that the rewind
    would undo. 409 `checkpoints_unavailable` if the current state cannot be saved.
    """
    return await viewer.sandboxes.client(conversation.sandbox_id).rewind(conversation.id, checkpoint_id, body)
