"""Reports the progress of conversations to the triggers that have started them. A trigger starts
conversations for events at a git host.
"""

from typing import Final
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import Conversation
from app_server.core.jobs.queue import enqueue

TRIGGER: Final = "git_host"
"""The value of `Conversation.trigger` for conversations that a trigger has started for an event at a git
host.
"""

PROGRESS_KIND: Final = "triggers.progress"


async def tell_of_progress(session: AsyncSession, conversation_id: UUID) -> None:
    """Stores a background job that reports the conversation's progress to the trigger that started the
    conversation. A trigger starts conversations for events at a git host. Does nothing if no trigger started
    the conversation.
    """
    query = select(Conversation.trigger).where(Conversation.id == conversation_id)
    if await session.scalar(query) == TRIGGER:
        payload = {"conversation_id": conversation_id.hex}
        await enqueue(session, PROGRESS_KIND, payload, key=f"{PROGRESS_KIND}:{conversation_id.hex}")
