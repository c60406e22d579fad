"""Routes for checkpoints (snapshots of the workspace's files): list them, show the changes since a
checkpoint, and reset the conversation to a checkpoint.
"""

from agent_runtime.conversation.checkpoints.rewind import rewind as go_back
from agent_runtime.server.routers.dependencies import LoadedConversation
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import CheckpointDiff, CheckpointList, RewindRequest, RewindResult

router = Router(prefix="/api/conversations/{conversation_id}/checkpoints", tags=["conversations"])


@router.get("")
async def list_checkpoints(conversation: LoadedConversation) -> CheckpointList:
    """Returns the newest 300 checkpoints (snapshots of the workspace's files) of a conversation, oldest
    first.
    """
    return conversation.checkpoints.list()


@router.get("/{checkpoint_id}/diff", responses={409: {"description": "The files cannot be read now"}})
async def diff_checkpoint(conversation: LoadedConversation, checkpoint_id: int) -> CheckpointDiff:
    """Returns how the files have changed since the checkpoint (a snapshot of the files). A reset to this
    checkpoint would undo these changes.
    """
    return await conversation.checkpoints.diff(checkpoint_id)


@router.post(
    "/{checkpoint_id}/rewind",
    responses={
        409: {"description": "A run is going on, or others than the agent have edited files"},
        500: {"description": "Not all files could be put back"},
    },
)
async def rewind(conversation: LoadedConversation, checkpoint_id: int, wanted: RewindRequest) -> RewindResult:
    """Resets the files, the chat or both to a checkpoint (a snapshot of the files that belongs to a point in
    the chat). Before that, saves the current files as a new checkpoint, so that the user can undo the reset.
    """
    return await go_back(conversation, checkpoint_id, wanted)
