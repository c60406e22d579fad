"""Sub-conversations, which belong to a parent conversation. Fills in what a new sub-conversation takes from
its parent, and deletes sub-conversations together with the parent.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import Conversation
from app_server.conversations.schemas import StartRequest
from app_server.core.errors import NotFound
from app_server.sandbox_records.models import Sandbox
from app_server.users.models import User


async def with_parent(session: AsyncSession, user: User, request: StartRequest) -> StartRequest:
    """Returns a copy of the start request that uses the sandbox, the repository and the model of the parent
    conversation. If the request itself names a sandbox, a repository or a model, the copy keeps this value.
    Returns the request unchanged if it names no parent conversation.

    Raises NotFound `parent_not_found` if the user has no such parent conversation.
    """
    if request.parent_conversation_id is None:
        return request
    parent = await _locked(session, user.id, request.parent_conversation_id)
    parents: dict[str, Any] = {"sandbox_id": parent.sandbox_id}
    if request.selected_repository is None:
        parents |= parent.chosen_repository
    inherited = {name: value for name, value in parents.items() if getattr(request, name) is None}
    if request.llm_profile is None and request.llm_model is None:
        inherited["llm_profile"] = parent.llm_profile
    return request.model_copy(update=inherited)


async def join_family(session: AsyncSession, user_id: UUID, parent_id: UUID, child_id: UUID) -> None:
    """Adds the new sub-conversation to its parent's list of sub-conversations. Raises NotFound
    `parent_not_found` if the user has no such parent conversation.
    """
    parent = await _locked(session, user_id, parent_id)
    parent.sub_conversation_ids = [*parent.sub_conversation_ids, child_id.hex]


async def leave_family(session: AsyncSession, conversation: Conversation, moment: datetime) -> list[UUID]:
    """Removes a conversation that is being deleted from its parent's list of sub-conversations. Deletes all
    sub-conversations of the conversation and returns their ids. `moment`: the time of the deletion.
    """
    if conversation.parent_conversation_id is not None:
        parent = await session.get(Conversation, conversation.parent_conversation_id, with_for_update=True)
        if parent is not None:
            rest = [each for each in parent.sub_conversation_ids if each != conversation.id.hex]
            parent.sub_conversation_ids = rest
    deleted: list[UUID] = []
    waiting = [conversation.id]
    while waiting:
        query = select(Conversation).where(
            Conversation.parent_conversation_id.in_(waiting), Conversation.deleted_at.is_(None)
        )
        children = (await session.scalars(query.with_for_update())).all()
        for child in children:
            # The row is locked, because a conversation that joins the sandbox must see whether this was the
            # last one in it.
            await session.get(Sandbox, child.sandbox_id, with_for_update=True)
            child.deleted_at = moment
        waiting = [child.id for child in children]
        deleted += waiting
    return deleted


async def _locked(session: AsyncSession, user_id: UUID, conversation_id: UUID) -> Conversation:
    parent = await session.get(Conversation, conversation_id, with_for_update=True, populate_existing=True)
    if parent is None or parent.user_id != user_id or parent.deleted_at is not None:
        raise NotFound("No such parent conversation.", code="parent_not_found")
    return parent
