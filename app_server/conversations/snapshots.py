"""Takes snapshots of a conversation's files, and makes downloadable copies of these files."""

from typing import BinaryIO

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.by_sandbox import residents_of, without_sandbox
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.storage_quota import require_storage
from app_server.core.database import Database
from app_server.core.errors import Conflict
from app_server.sandbox_records.models import Archive, Sandbox
from app_server.sandboxes.service import Sandboxes


async def snapshot_of(
    database: Database, sandboxes: Sandboxes, conversation: Conversation, name: str | None
) -> Archive:
    """Takes a snapshot of the conversation's current files. Returns the database row of the snapshot. `name`:
    the name of the snapshot; None if it has no name. If the sandbox is a container, it is paused while the
    files are copied.

    Raises Conflict `sandbox_shared` if the directory also has files of other conversations. Raises Conflict
    `sandbox_not_at_rest` if the sandbox is starting or could not be started. Raises TooManyRequests
    `quota_reached` if the user's storage quota is used up. Raises Unavailable if the files cannot be copied.
    """
    async with database.read() as session:
        await _require_own_files(session, conversation)
        await require_storage(session, conversation.user_id)
    return await sandboxes.archiving.snapshot(
        conversation.sandbox_id, name, conversation_id=conversation.id, folder=conversation.folder
    )


async def copy_of_files(database: Database, sandboxes: Sandboxes, conversation: Conversation) -> BinaryIO:
    """Returns a copy of the conversation's current project files: an open gzipped tar file. When the caller
    closes the file, the file is deleted. The agent's home directory and the data of the agent server are left
    out.

    Raises Conflict `conversation_imported` if the conversation was imported, so that it has no sandbox.
    Raises Conflict `sandbox_deleted` if the sandbox was deleted. Raises Conflict `conversation_not_started`
    if the project files have not been fetched yet. Raises Conflict `sandbox_shared` if the directory also has
    files of other conversations. Raises Conflict `sandbox_not_at_rest` if the sandbox is starting or could
    not be started. Raises Conflict `download_running` if an earlier copy is still open. Raises Unavailable if
    the files cannot be copied.
    """
    async with database.read() as session:
        await require_files(session, conversation)
        await _require_own_files(session, conversation)
    return await sandboxes.archiving.copy(conversation.sandbox_id, conversation.folder)


async def require_files(session: AsyncSession, conversation: Conversation) -> None:
    """Checks that the conversation has started and has a sandbox with files. Raises Conflict if it has not
    started or has no sandbox.
    """
    task = await session.get_one(StartTask, conversation.id)
    if await session.get(Sandbox, conversation.sandbox_id) is None and task.status == StartStatus.READY:
        raise without_sandbox(conversation)
    if conversation.working_dir is None:
        raise not_started()


def not_started() -> Conflict:
    return Conflict(
        "This conversation has not started yet.",
        code="conversation_not_started",
        fix="Wait until its agent has begun to work.",
    )


async def _require_own_files(session: AsyncSession, conversation: Conversation) -> None:
    residents = await residents_of(session, conversation.sandbox_id)
    if conversation.folder is None and len(residents) > 1:
        raise Conflict(
            "Other conversations have joined the sandbox of this conversation: the files of all are mixed.",
            code="sandbox_shared",
            fix="Push the work, or download its changes. Conversations that start while sandboxes are shared "
            "have separate directories, and these can be copied.",
        )
