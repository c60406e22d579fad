"""Takes snapshots of a conversation's files."""

from app_server.conversations.in_sandbox import residents_of
from app_server.conversations.models import Conversation
from app_server.conversations.storage_quota import require_storage
from app_server.core.database import Database
from app_server.core.errors import Conflict
from app_server.sandbox_records.models import Archive
from app_server.sandboxes.service import Sandboxes


async def snapshot_of(
    database: Database, sandboxes: Sandboxes, conversation: Conversation, name: str | None
) -> Archive:
    """Takes and returns a snapshot of the conversation's current files. A container is paused meanwhile.

    Raises Conflict `sandbox_shared` and `sandbox_not_at_rest`, TooManyRequests `quota_reached`, and
    Unavailable.
    """
    async with database.read() as session:
        residents = await residents_of(session, conversation.sandbox_id)
        await require_storage(session, conversation.user_id)
    if conversation.folder is None and len(residents) > 1:
        raise Conflict(
            "Others have joined the sandbox that this conversation began alone: their files lie among its.",
            code="sandbox_shared",
            fix="Push the work, or download its changes. Conversations that begin while sandboxes are shared "
            "have a directory each, of which snapshots can be taken.",
        )
    return await sandboxes.archiving.snapshot(
        conversation.sandbox_id, name, conversation_id=conversation.id, folder=conversation.folder
    )
