"""Notifies triggers of changes in the conversations that they have started. A trigger starts conversations
for events at a git host.
"""

from typing import Final
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import Conversation
from app_server.core.jobs.queue import enqueue

TRIGGER: Final = "git_host"
"""`Conversation.trigger` of conversations that a trigger of a git host has started."""

PROGRESS_KIND: Final = "triggers.progress"


async def tell_of_progress(session: AsyncSession, conversation_id: UUID) -> None:
    """Stores a job that reports the conversation's progress to the trigger that has started it. Does nothing
    for a conversation that no trigger has started.
    """
    query = select(Conversation.trigger).where(Conversation.id == conversation_id)
    if await session.scalar(query) == TRIGGER:
        payload = {"conversation_id": conversation_id.hex}
        await enqueue(session, PROGRESS_KIND, payload, key=f"{PROGRESS_KIND}:{conversation_id.hex}")
