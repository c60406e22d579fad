"""Queries for the conversations that a user may see: a page, a count, and several by their ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import Conversation
from app_server.conversations.schemas import AppConversation
from app_server.conversations.sharing.access import visible_to
from app_server.conversations.view import Viewer, conversation_rows
from app_server.core.pagination import encode_page_id, page_position


@dataclass(frozen=True)
class ConversationFilter:
    title_contains: str | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None
    updated_from: datetime | None = None
    updated_before: datetime | None = None
    sandbox_id: UUID | None = None
    with_sub_conversations: bool = False
    shared: bool | None = None
    """True: only conversations of other people. False: only the user's own. None: both."""


@dataclass(frozen=True)
class ConversationPage:
    items: list[AppConversation]
    next_page_id: str | None


async def search(
    session: AsyncSession,
    viewer: Viewer,
    user_id: UUID,
    criteria: ConversationFilter,
    *,
    page_id: str | None,
    limit: int,
) -> ConversationPage:
    """Returns a page of the conversations that the user may see and that match the criteria, newest first."""
    query = conversation_rows(user_id).where(*_conditions(user_id, criteria))
    if page_id is not None:
        created_at, last_id = page_position(page_id)
        query = query.where(tuple_(Conversation.created_at, Conversation.id) < tuple_(created_at, last_id))
    query = query.order_by(Conversation.created_at.desc(), Conversation.id.desc()).limit(limit + 1)
    rows = (await session.execute(query)).all()
    last = rows[limit - 1][0] if len(rows) > limit else None
    next_page_id = encode_page_id(last.created_at.isoformat(), last.id.hex) if last else None
    return ConversationPage([viewer.show(row, user_id) for row in rows[:limit]], next_page_id)


async def count(session: AsyncSession, user_id: UUID, criteria: ConversationFilter) -> int:
    query = select(func.count()).select_from(Conversation)
    visible = query.where(visible_to(user_id), Conversation.deleted_at.is_(None))
    return await session.scalar(visible.where(*_conditions(user_id, criteria))) or 0


async def batch(
    session: AsyncSession, viewer: Viewer, user_id: UUID, ids: Sequence[UUID]
) -> dict[UUID, AppConversation]:
    rows = await session.execute(conversation_rows(user_id).where(Conversation.id.in_(ids)))
    return {row[0].id: viewer.show(row, user_id) for row in rows}


def _conditions(user_id: UUID, criteria: ConversationFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if not criteria.with_sub_conversations:
        conditions.append(Conversation.parent_conversation_id.is_(None))
    if criteria.title_contains is not None:
        conditions.append(Conversation.title.icontains(criteria.title_contains, autoescape=True))
    if criteria.created_from is not None:
        conditions.append(Conversation.created_at >= criteria.created_from)
    if criteria.created_before is not None:
        conditions.append(Conversation.created_at < criteria.created_before)
    if criteria.updated_from is not None:
        conditions.append(Conversation.updated_at >= criteria.updated_from)
    if criteria.updated_before is not None:
        conditions.append(Conversation.updated_at < criteria.updated_before)
    if criteria.sandbox_id is not None:
        conditions.append(Conversation.sandbox_id == criteria.sandbox_id)
    if criteria.shared is not None:
        is_own = Conversation.user_id == user_id
        conditions.append(~is_own if criteria.shared else is_own)
    return conditions
