"""Stores the user's messages to a conversation whose start is not finished (not READY). The messages wait in
the order in which they were sent.
"""

from uuid import UUID

from sqlalchemy import CursorResult, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import SendMessageRequest as AgentMessage
from app_server.conversations.message_schemas import SendMessageRequest
from app_server.conversations.models import PendingMessage
from app_server.core.errors import TooManyRequests

MAX_PENDING = 100


async def keep(
    session: AsyncSession,
    conversation_id: UUID,
    message_id: str,
    message: SendMessageRequest,
    sender: str | None = None,
) -> int:
    """Stores a waiting message and returns its position in the conversation's queue, counted from 1. If a
    message with this id is already stored, its position stays the same.

    sender: the name of the person who wrote the message; None means the owner of the conversation. The caller
    must hold the lock of the row of the conversation's start task. Raises TooManyRequests
    `too_many_pending_messages` if MAX_PENDING messages wait already.
    """
    waiting = select(PendingMessage.id).where(PendingMessage.conversation_id == conversation_id)
    ids = list(await session.scalars(waiting.order_by(PendingMessage.position)))
    if message_id in ids:
        return ids.index(message_id) + 1
    if len(ids) >= MAX_PENDING:
        raise TooManyRequests(
            f"{MAX_PENDING} messages wait for this conversation already.",
            code="too_many_pending_messages",
            fix="Wait until it is ready, or fix what keeps it from starting.",
        )
    last = select(func.max(PendingMessage.position)).where(PendingMessage.conversation_id == conversation_id)
    session.add(
        PendingMessage(
            conversation_id=conversation_id,
            id=message_id,
            position=(await session.scalar(last) or 0) + 1,
            message={
                **message.model_dump(mode="json", exclude_none=True),
                **({} if sender is None else {"sender": sender}),
            },
        )
    )
    await session.flush()
    return len(ids) + 1


def for_agent(waiting: PendingMessage) -> AgentMessage:
    """Returns the waiting message in the form that the agent server accepts."""
    given = {name: value for name, value in waiting.message.items() if name != "sender"}
    return SendMessageRequest.model_validate(given).to_agent(waiting.id, waiting.message.get("sender"))


async def all_of(session: AsyncSession, conversation_id: UUID) -> list[PendingMessage]:
    query = select(PendingMessage).where(PendingMessage.conversation_id == conversation_id)
    return list(await session.scalars(query.order_by(PendingMessage.position)))


async def first(session: AsyncSession, conversation_id: UUID) -> PendingMessage | None:
    query = select(PendingMessage).where(PendingMessage.conversation_id == conversation_id)
    return await session.scalar(query.order_by(PendingMessage.position).limit(1))


async def forget(session: AsyncSession, conversation_id: UUID, message_id: str) -> bool:
    """Deletes a waiting message of the conversation. Returns whether there was a message with this id."""
    result = await session.execute(
        delete(PendingMessage).where(
            PendingMessage.conversation_id == conversation_id, PendingMessage.id == message_id
        )
    )
    assert isinstance(result, CursorResult)
    return result.rowcount == 1
