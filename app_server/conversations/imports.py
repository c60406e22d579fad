"""Imports an exported conversation from a file. The imported conversation can be read, but it has no sandbox,
so no agent works on it.
"""

import asyncio
from uuid import UUID, uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.conversations.log.bulk_append import fill, hide, in_parts, removed_after_failure, revealed
from app_server.conversations.log.imported import ImportedLog, read_export
from app_server.conversations.models import IMPORTED, Conversation, StartStatus, StartTask
from app_server.conversations.start.tasks import new_stages
from app_server.core.database import Database
from app_server.users.models import User


async def import_conversation(database: Database, user: User, trail: AuditTrail, content: bytes) -> UUID:
    """Stores an exported conversation as a new conversation of this user. Returns the id of the new
    conversation. `content`: the exported zip file.

    The conversation is hidden until all its events are stored. Raises NotAnExport if the file cannot be
    imported. Raises Unavailable `copy_cut_off` if storing the events takes too long.
    """
    given = await asyncio.to_thread(read_export, content)
    conversation_id = uuid4()
    async with database.session() as session:
        await _begin(session, user, conversation_id, given)
    async with removed_after_failure(database, conversation_id):
        for frames in in_parts(given.frames):
            await fill(database, conversation_id, frames)
        async with database.session() as session:
            conversation = await revealed(session, conversation_id)
            # A title of the file is that of its user.
            conversation.title = given.title or conversation.title
            conversation.unsent_title = None
            target = (AuditTarget.CONVERSATION, conversation_id)
            trail.record(session, AuditAction.CONVERSATION_IMPORTED, target, events=len(given.frames))
    return conversation_id


async def _begin(session: AsyncSession, user: User, conversation_id: UUID, given: ImportedLog) -> None:
    conversation = Conversation(
        id=conversation_id,
        user_id=user.id,
        sandbox_id=conversation_id,
        selected_repository=given.repository,
        title=given.title,
        trigger=IMPORTED,
        llm_profile="",
        llm_model=given.model,
        last_seq=0,
        folded_state=None,
        log_size=0,
    )
    task = StartTask(
        id=conversation_id,
        user_id=user.id,
        sandbox_id=conversation_id,
        status=StartStatus.READY,
        request={},
        stages=[{**stage, "state": "skipped"} for stage in new_stages()],
    )
    hide(conversation)
    session.add_all((conversation, task))
    await session.flush()
