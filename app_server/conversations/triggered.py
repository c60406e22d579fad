"""Notifies triggers about changes in the conversations that they have started. A trigger is a rule that
starts conversations for events at a git host.
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
    """Stores a background job that updates the comment at the git host, after a change in a conversation that
    a trigger has started. Does nothing for other conversations.
    """
    query = select(Conversation.trigger).where(Conversation.id == conversation_id)
    if await session.scalar(query) == TRIGGER:
        payload = {"conversation_id": conversation_id.hex}
        await enqueue(session, PROGRESS_KIND, payload, key=f"{PROGRESS_KIND}:{conversation_id.hex}")
