"""SQL queries for the conversations that a user may see: one page of conversations, their tags, and the
choices for search filters.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Text, cast, func, or_, select, tuple_, union_all
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.log.message_texts import with_words
from app_server.conversations.models import Conversation
from app_server.conversations.schemas import AppConversation, ConversationOwner, FilterChoices, TagCount
from app_server.conversations.sharing.access import shared_with, visible_to
from app_server.conversations.view import Viewer, conversation_rows
from app_server.core.pagination import encode_page_id, page_position
from app_server.users.models import User

_MAX_CHOICES = 200


@dataclass(frozen=True)
class ConversationFilter:
    """The criteria of a search for conversations. A criterion that is None or an empty text applies to all
    conversations.
    """

    title_contains: str | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None
    updated_from: datetime | None = None
    updated_before: datetime | None = None
    sandbox_id: UUID | None = None
    with_sub_conversations: bool = False
    shared: bool | None = None
    """True: only conversations of other people. False: only the user's own conversations. None: all
    conversations.
    """
    query: str | None = None
    """Words to search for in the titles and the messages of the conversations. None: no text search."""
    repository_contains: str | None = None
    branch: str | None = None
    llm_model: str | None = None
    execution_status: str | None = None
    tags: Sequence[str] = ()
    """Tags that a conversation must have, all of them. Each text is `key`, or `key:value`. Empty: any tags.
    """
    archived: bool | None = None
    """True: only archived conversations. False: only conversations that are not archived. None: all
    conversations.
    """
    owner_id: UUID | None = None
    """Only conversations of this user; None: of all users. Conversations that the current user may not see
    are left out in each case.
    """


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
    """Returns a page of the conversations that the user may see and that match the criteria, newest first.
    `page_id`: the `next_page_id` of the page before; None for the first page. `limit`: the maximum number of
    conversations on the page.
    """
    newest_first = (Conversation.created_at.desc(), Conversation.id.desc())
    found = select(Conversation.id, Conversation.created_at).where(Conversation.deleted_at.is_(None))
    found = found.where(*_conditions(session, user_id, criteria))
    if page_id is not None:
        created_at, last_id = page_position(page_id)
        found = found.where(tuple_(Conversation.created_at, Conversation.id) < tuple_(created_at, last_id))
    # The first query reads only ids, because sorting all matches is cheap only without their other columns.
    # The user's own conversations and the shared ones are separate queries. So the own ones are read in the
    # order of their index until the page is full. With one condition for both, all rows would be read and
    # sorted.
    parts = [
        select(found.where(whose).order_by(*newest_first).limit(limit + 1).subquery())
        for whose in (Conversation.user_id == user_id, shared_with(user_id))
    ]
    both = union_all(*parts).subquery()
    ids = select(both).order_by(both.c.created_at.desc(), both.c.id.desc()).limit(limit + 1).subquery()
    query = conversation_rows(user_id).where(Conversation.id.in_(select(ids.c.id))).order_by(*newest_first)
    rows = (await session.execute(query)).all()
    last = rows[limit - 1][0] if len(rows) > limit else None
    next_page_id = encode_page_id(last.created_at.isoformat(), last.id.hex) if last else None
    return ConversationPage([viewer.show(row, user_id) for row in rows[:limit]], next_page_id)


async def count(session: AsyncSession, user_id: UUID, criteria: ConversationFilter) -> int:
    query = select(func.count()).select_from(Conversation)
    visible = query.where(visible_to(user_id), Conversation.deleted_at.is_(None))
    return await session.scalar(visible.where(*_conditions(session, user_id, criteria))) or 0


async def batch(
    session: AsyncSession, viewer: Viewer, user_id: UUID, ids: Sequence[UUID]
) -> dict[UUID, AppConversation]:
    rows = await session.execute(conversation_rows(user_id).where(Conversation.id.in_(ids)))
    return {row[0].id: viewer.show(row, user_id) for row in rows}


def _conditions(
    session: AsyncSession, user_id: UUID, criteria: ConversationFilter
) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if not criteria.with_sub_conversations:
        conditions.append(Conversation.parent_conversation_id.is_(None))
    parts = (
        (Conversation.title, criteria.title_contains),
        (Conversation.selected_repository, criteria.repository_contains),
    )
    conditions += [column.icontains(part, autoescape=True) for column, part in parts if part]
    exact: tuple[tuple[Any, Any], ...] = (
        (Conversation.sandbox_id, criteria.sandbox_id),
        (Conversation.selected_branch, criteria.branch),
        (Conversation.llm_model, criteria.llm_model),
        (Conversation.execution_status, criteria.execution_status),
        (Conversation.user_id, criteria.owner_id),
    )
    conditions += [column == value for column, value in exact if value not in {None, ""}]
    times = (
        (Conversation.created_at, criteria.created_from, criteria.created_before),
        (Conversation.updated_at, criteria.updated_from, criteria.updated_before),
    )
    for column, first, end in times:
        if first is not None:
            conditions.append(column >= first)
        if end is not None:
            conditions.append(column < end)
    conditions += [has_tag(tag) for tag in criteria.tags]
    if criteria.shared is not None:
        is_own = Conversation.user_id == user_id
        conditions.append(~is_own if criteria.shared else is_own)
    if criteria.archived is not None:
        is_archived = Conversation.archived_at.is_not(None)
        conditions.append(is_archived if criteria.archived else ~is_archived)
    if criteria.query:
        conditions.append(_has_words(session, criteria.query))
    return conditions


def has_tag(tag: str) -> ColumnElement[bool]:
    """Returns the SQL condition that the conversation has the tag. `tag`: `key` for any value, or
    `key:value`. The condition is true or false, never null.
    """
    key, colon, value = tag.partition(":")
    stored: ColumnElement[str | None] = Conversation.tags[key.strip()].as_string()
    exists = stored.is_not(None)
    return exists & (stored == value.strip()) if colon else exists


async def tags_of(session: AsyncSession, user_id: UUID) -> list[TagCount]:
    """Returns the tags of the conversations that the user may see, each with the number of conversations that
    have the tag. The tags are sorted by key and value.
    """
    query = select(Conversation.tags).where(
        visible_to(user_id), Conversation.deleted_at.is_(None), cast(Conversation.tags, Text) != "{}"
    )
    counted = Counter(pair for tags in (await session.scalars(query)).all() for pair in tags.items())
    return [TagCount(key=key, value=value, count=number) for (key, value), number in sorted(counted.items())]


async def filter_choices(session: AsyncSession, user_id: UUID) -> FilterChoices:
    """Returns the values that the user can choose in the search filters: the models, branches and owners of
    the conversations that the user may see. The user is not in the list of owners. Each of the three lists
    has at most 200 values: those with the most conversations.
    """
    models, branches = [
        [value for (value,) in await _most_used(session, user_id, column)]
        for column in (Conversation.llm_model, Conversation.selected_branch)
    ]
    owners = await _most_used(session, user_id, User.name, User.id)
    return FilterChoices(
        llm_models=models,
        selected_branches=branches,
        owners=[ConversationOwner(id=id_, name=name) for name, id_ in owners if id_ != user_id],
    )


async def _most_used(session: AsyncSession, user_id: UUID, *columns: Any) -> list[Any]:
    """Returns the different values in `columns` (columns of conversations and their owners), sorted by value.
    Each returned row has one value for each column. If there are more than _MAX_CHOICES (200) rows, returns
    those with the most conversations.

    Counts only conversations that the user may see and that have a value in the first column.
    """
    query = (
        select(*columns)
        .select_from(Conversation)
        .join(User, User.id == Conversation.user_id)
        .where(visible_to(user_id), Conversation.deleted_at.is_(None), columns[0].is_not(None))
        .group_by(*columns)
        .order_by(func.count().desc(), *columns)
        .limit(_MAX_CHOICES)
    )
    return sorted((await session.execute(query)).all())


def _has_words(session: AsyncSession, query: str) -> ColumnElement[bool]:
    """Returns the SQL condition for the search by text. A conversation is found if its title contains
    `query`, in upper or lower case. It is also found if one of its messages contains all words of `query`, in
    any order.
    """
    in_title = Conversation.title.icontains(query, autoescape=True)
    in_messages = with_words(query, session.get_bind().dialect.name)
    return in_title if in_messages is None else or_(in_title, Conversation.id.in_(in_messages))
