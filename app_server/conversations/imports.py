"""Makes a conversation from an exported one. It can be read, and has no sandbox."""

import asyncio
from uuid import UUID, uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.conversations.log import message_texts
from app_server.conversations.log.full_log import take_room
from app_server.conversations.log.imported import ImportedLog, read_export
from app_server.conversations.log.ingest import project
from app_server.conversations.models import IMPORTED, Conversation, StartStatus, StartTask
from app_server.conversations.start.tasks import new_stages
from app_server.core.database import Database
from app_server.events import log
from app_server.users.models import User

_AT_ONCE = 500


async def import_conversation(database: Database, user: User, trail: AuditTrail, content: bytes) -> UUID:
    """Stores the conversation for this user and returns its new id. Raises NotAnExport."""
    given = await asyncio.to_thread(read_export, content)
    conversation_id = uuid4()
    async with database.session() as session:
        await _store(session, user, conversation_id, given)
        target = (AuditTarget.CONVERSATION, conversation_id)
        trail.record(session, AuditAction.CONVERSATION_IMPORTED, target, events=len(given.frames))
    return conversation_id


async def _store(session: AsyncSession, user: User, conversation_id: UUID, given: ImportedLog) -> None:
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
    session.add_all((conversation, task))
    await session.flush()
    for begin in range(0, len(given.frames), _AT_ONCE):
        appended = await log.append(session, conversation_id, given.frames[begin : begin + _AT_ONCE])
        take_room(conversation, appended)
        await message_texts.add(session, conversation_id, appended.new)
        project(conversation, appended)
    # A title of the file is that of its user.
    conversation.title = given.title or conversation.title
    conversation.unsent_title = None
    await session.flush()
