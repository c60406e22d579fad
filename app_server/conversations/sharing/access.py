"""Computes what a user may do with a conversation. Every query that selects conversations for a user uses
this module.
"""

from enum import StrEnum
from uuid import UUID

from sqlalchemy import ColumnElement, and_, exists, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import Conversation
from app_server.conversations.sharing.models import ConversationShare, ConversationTeamShare, ShareRole
from app_server.core.errors import Conflict, Forbidden, NotFound
from app_server.teams.membership import teams_of
from app_server.users.colleagues import are_colleagues, organisation_of


class Access(StrEnum):
    """The kinds of access that a user can have to a conversation: to view it, to steer it (send messages and
    control the agent), or to own it. Each kind includes the kinds before it.
    """

    VIEW = "view"
    STEER = "steer"
    OWN = "own"

    def includes(self, other: "Access") -> bool:
        order = [*Access]
        return order.index(self) >= order.index(other)


def is_shared() -> ColumnElement[bool]:
    """Returns the SQL condition that a conversation is shared with users other than its owner."""
    return or_(
        Conversation.everyone_role.is_not(None),
        exists().where(ConversationShare.conversation_id == Conversation.id),
        exists().where(ConversationTeamShare.conversation_id == Conversation.id),
    )


def visible_to(user_id: UUID) -> ColumnElement[bool]:
    """Returns the SQL condition that this user may see a conversation. The condition is true if the user is
    the owner, or if the conversation is shared with the user, with a team of the user, or with everyone in
    the user's organisation.
    """
    given = or_(
        Conversation.everyone_role.is_not(None),
        exists().where(
            ConversationShare.conversation_id == Conversation.id, ConversationShare.user_id == user_id
        ),
        exists().where(
            ConversationTeamShare.conversation_id == Conversation.id,
            ConversationTeamShare.team_id.in_(teams_of(user_id)),
        ),
    )
    return or_(Conversation.user_id == user_id, and_(given, _is_of_colleague(user_id)))


def shared_with(user_id: UUID) -> ColumnElement[bool]:
    """Returns the SQL condition that a conversation of another user is shared with this user. The condition
    combines three queries: shared with everyone, with this person, and with a team of this person. Separate
    queries are fast, because the database can use one index for each of them.
    """
    everyone = select(Conversation.id).where(Conversation.everyone_role.is_not(None))
    person = select(ConversationShare.conversation_id).where(ConversationShare.user_id == user_id)
    teams = select(ConversationTeamShare.conversation_id).where(
        ConversationTeamShare.team_id.in_(teams_of(user_id))
    )
    shared = everyone.union_all(person, teams).subquery()
    return and_(
        Conversation.user_id != user_id,
        _is_of_colleague(user_id),
        Conversation.id.in_(select(shared.c[0])),
    )


def _is_of_colleague(user_id: UUID) -> ColumnElement[bool]:
    """Returns the SQL condition that the owner of a conversation is in the same organisation as this user. A
    conversation is never shared with people of another organisation, even if a database row says so.
    """
    # Looked up for each row: as a list of people it could lead the database to read all of their rows.
    return organisation_of(Conversation.user_id) == organisation_of(user_id)


async def access_of(session: AsyncSession, user_id: UUID, conversation: Conversation) -> Access | None:
    """Returns the user's access to the conversation. Returns None if the user has no access; then the API
    replies as if the conversation did not exist.
    """
    if conversation.user_id == user_id:
        return Access.OWN
    if not await are_colleagues(session, user_id, conversation.user_id):
        return None
    person = select(ConversationShare.role).where(
        ConversationShare.conversation_id == conversation.id, ConversationShare.user_id == user_id
    )
    teams = select(ConversationTeamShare.role).where(
        ConversationTeamShare.conversation_id == conversation.id,
        ConversationTeamShare.team_id.in_(teams_of(user_id)),
    )
    given = await session.scalars(person.union_all(teams))
    return widest(*given, conversation.everyone_role)


def widest(*roles: ShareRole | None) -> Access | None:
    found = [Access(role) for role in roles if role is not None]
    return (Access.STEER if Access.STEER in found else Access.VIEW) if found else None


async def require_access(
    session: AsyncSession, user_id: UUID, conversation_id: UUID, wanted: Access
) -> Conversation:
    """Returns the conversation if the user has at least the access `wanted`.

    Raises NotFound if there is no such conversation or the user has no access to it. Raises Forbidden
    `conversation_access_missing` if the user's access is lower than `wanted`.
    """
    conversation = await session.scalar(
        select(Conversation).where(Conversation.id == conversation_id, Conversation.deleted_at.is_(None))
    )
    access = await access_of(session, user_id, conversation) if conversation else None
    if conversation is None or access is None:
        raise NotFound("No such conversation.")
    if not access.includes(wanted):
        raise access_missing(wanted)
    return conversation


def access_missing(wanted: Access) -> Forbidden:
    what = "Only its owner may do this." if wanted is Access.OWN else "You may view it, but not steer it."
    return Forbidden(
        f"This conversation belongs to another person. {what}",
        code="conversation_access_missing",
        fix="Ask the owner of the conversation.",
    )


async def require_no_private_neighbours(
    session: AsyncSession, user_id: UUID, conversation: Conversation, wanted: Access
) -> None:
    """Checks that the user also has at least the access `wanted` to all other conversations in the
    conversation's sandbox. This is necessary because an agent can read all files of its sandbox. If the user
    is the owner of the conversation, nothing is checked.

    Raises Conflict `sandbox_holds_private_work` if the user's access to one of the other conversations is
    lower than `wanted`.
    """
    if conversation.user_id == user_id:
        return
    neighbours = select(Conversation).where(
        Conversation.sandbox_id == conversation.sandbox_id,
        Conversation.id != conversation.id,
        Conversation.deleted_at.is_(None),
    )
    for other in (await session.scalars(neighbours)).all():
        access = await access_of(session, user_id, other)
        if access is None or not access.includes(wanted):
            raise Conflict(
                "Another conversation, which is not shared with you, works in the same sandbox.",
                code="sandbox_holds_private_work",
                fix="Ask the owner to share it as well, or to delete it.",
            )
