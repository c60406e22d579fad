"""Stores the background jobs that react to the progress of conversations which triggers have started. A
trigger starts conversations for events at a git host.
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
    """Stores a background job that reacts to the present state of the conversation. For example, the job
    updates a comment at the git host, or opens a pull request when the agent has finished. Does nothing if
    the conversation was not started by a trigger, which starts conversations for events at a git host.
    """
    query = select(Conversation.trigger).where(Conversation.id == conversation_id)
    if await session.scalar(query) == TRIGGER:
        payload = {"conversation_id": conversation_id.hex}
        await enqueue(session, PROGRESS_KIND, payload, key=f"{PROGRESS_KIND}:{conversation_id.hex}")
