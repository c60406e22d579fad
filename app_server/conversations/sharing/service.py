"""Shares conversations with people and with everyone in the organisation, and ends the sharing. Only the
owner of a conversation may do this.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.conversations.models import Conversation
from app_server.conversations.sharing.access import Access, require_access
from app_server.conversations.sharing.models import ConversationShare, ConversationTeamShare, ShareRole
from app_server.conversations.sharing.schemas import SharedPerson, SharedTeam, Sharing
from app_server.core.errors import BadRequest, Conflict, NotFound
from app_server.teams.membership import member_count
from app_server.teams.models import Team
from app_server.users.colleagues import are_colleagues, organisation_of
from app_server.users.models import User

MAX_PEOPLE = 100
MAX_CANDIDATES = 20


async def sharing_of(session: AsyncSession, user_id: UUID, conversation_id: UUID) -> Sharing:
    """Returns the people and teams that have access to the conversation.

    Raises NotFound if the user may not see the conversation. Raises Forbidden `conversation_access_missing`
    if the user is not its owner.
    """
    return await show(session, await require_access(session, user_id, conversation_id, Access.OWN))


async def share_with_everyone(
    session: AsyncSession, user_id: UUID, trail: AuditTrail, conversation_id: UUID, role: ShareRole | None
) -> Sharing:
    """Sets what every signed-in user of the organisation may do with the conversation, and returns the people
    and teams that now have access. `role`: None means that the conversation is no longer shared with
    everyone. Raises NotFound if the user may not see the conversation. Raises Forbidden
    `conversation_access_missing` if the user is not its owner.
    """
    conversation = await require_access(session, user_id, conversation_id, Access.OWN)
    if conversation.everyone_role != role:
        conversation.everyone_role = role
        action = AuditAction.CONVERSATION_SHARED if role else AuditAction.CONVERSATION_UNSHARED
        target = (AuditTarget.CONVERSATION, conversation_id)
        trail.record(session, action, target, everyone=True, role=role)
        await session.flush()
    return await show(session, conversation)


async def make_public(
    session: AsyncSession, user_id: UUID, trail: AuditTrail, conversation_id: UUID, public: bool
) -> None:
    """Sets whether all signed-in users of the organisation may view the conversation. `public`: false ends
    the access that these users have because they are in the organisation. If `public` is true and these users
    may already steer the conversation (send messages and control the agent), nothing changes.

    Raises NotFound if the user may not see the conversation. Raises Forbidden `conversation_access_missing`
    if the user is not its owner.
    """
    conversation = await require_access(session, user_id, conversation_id, Access.OWN)
    role = (conversation.everyone_role or ShareRole.VIEW) if public else None
    await share_with_everyone(session, user_id, trail, conversation_id, role)


async def share_with(
    session: AsyncSession,
    user_id: UUID,
    trail: AuditTrail,
    conversation_id: UUID,
    person_id: UUID,
    role: ShareRole,
) -> Sharing:
    """Shares the conversation with a person, or changes what the person may do with it. Returns the people
    and teams that now have access.

    Raises NotFound if the user may not see the conversation. Raises NotFound `person_not_found` if the
    organisation has no such active person. Raises Forbidden `conversation_access_missing` if the user is not
    the owner. Raises BadRequest `shared_with_owner` if the person is the owner. Raises Conflict
    `too_many_people` if the conversation is shared with the maximum number of people.
    """
    conversation = await require_access(session, user_id, conversation_id, Access.OWN)
    if person_id == user_id:
        raise BadRequest("The conversation is yours already.", code="shared_with_owner")
    person = await session.get(User, person_id)
    is_there = person is not None and await are_colleagues(session, user_id, person.id)
    if person is None or not is_there or person.disabled_at is not None:
        raise NotFound("There is no such person.", code="person_not_found")
    share = await session.get(ConversationShare, (conversation_id, person_id))
    if share is None:
        count = select(func.count()).where(ConversationShare.conversation_id == conversation_id)
        if (await session.scalar(count) or 0) >= MAX_PEOPLE:
            raise too_many("people", MAX_PEOPLE)
        session.add(ConversationShare(conversation_id=conversation_id, user_id=person_id, role=role))
    elif share.role == role:
        return await show(session, conversation)
    else:
        share.role = role
    details = {"person_id": person_id.hex, "person_name": person.name, "role": role}
    return await record_shared(session, trail, conversation, details)


async def stop_sharing_with(
    session: AsyncSession, user_id: UUID, trail: AuditTrail, conversation_id: UUID, person_id: UUID
) -> Sharing:
    """Ends the sharing of the conversation with a person. Returns the people and teams that still have
    access. Raises NotFound if the user may not see the conversation. Raises NotFound `share_not_found` if the
    conversation is not shared with the person. Raises Forbidden `conversation_access_missing` if the user is
    not the owner.
    """
    conversation = await require_access(session, user_id, conversation_id, Access.OWN)
    statement = delete(ConversationShare).where(
        ConversationShare.conversation_id == conversation_id, ConversationShare.user_id == person_id
    )
    if await session.scalar(statement.returning(ConversationShare.user_id)) is None:
        raise NotFound("The conversation is not shared with this person.", code="share_not_found")
    return await record_unshared(session, trail, conversation, {"person_id": person_id.hex})


async def candidates(
    session: AsyncSession,
    user_id: UUID,
    conversation_id: UUID,
    text: str,
    with_address: Collection[UUID],
) -> Sequence[User]:
    """Returns up to 20 people who can get access to the conversation, sorted by name. These are the other
    active people of the owner's organisation whose name contains `text`, or whose e-mail address is equal to
    `text`.

    `with_address`: the ids of the people with this e-mail address; the caller has looked them up.

    Raises NotFound if the user may not see the conversation. Raises Forbidden `conversation_access_missing`
    if the user is not its owner.
    """
    await require_access(session, user_id, conversation_id, Access.OWN)
    query = select(User).where(
        User.id != user_id,
        User.organisation_id == organisation_of(user_id),
        User.disabled_at.is_(None),
        or_(User.name.icontains(text, autoescape=True), User.id.in_(with_address)),
    )
    return (await session.scalars(query.order_by(User.name, User.id).limit(MAX_CANDIDATES))).all()


def too_many(receivers: Literal["people", "teams"], limit: int) -> Conflict:
    """Returns the error for a conversation that is already shared with the maximum number of people or teams.
    `limit`: this maximum number.
    """
    return Conflict(
        f"The conversation is shared with {limit} {receivers}, which is the limit.",
        code=f"too_many_{receivers}",
        fix="Share it with everyone who is signed in.",
    )


async def record_shared(
    session: AsyncSession, trail: AuditTrail, conversation: Conversation, details: Mapping[str, Any]
) -> Sharing:
    """Writes into the audit log that the conversation was shared. `details`: further fields of the audit log
    entry, such as the id of the person or team.

    Returns the people and teams that now have access, which is the reply of the routes that share a
    conversation.
    """
    target = (AuditTarget.CONVERSATION, conversation.id)
    trail.record(session, AuditAction.CONVERSATION_SHARED, target, **details)
    await session.flush()
    return await show(session, conversation)


async def record_unshared(
    session: AsyncSession, trail: AuditTrail, conversation: Conversation, details: Mapping[str, Any]
) -> Sharing:
    """Writes into the audit log that the conversation is no longer shared with a person or team. `details`:
    further fields of the audit log entry, such as the id of the person or team.

    Returns the people and teams that still have access, which is the reply of the routes that end the
    sharing.
    """
    target = (AuditTarget.CONVERSATION, conversation.id)
    trail.record(session, AuditAction.CONVERSATION_UNSHARED, target, **details)
    return await show(session, conversation)


async def show(session: AsyncSession, conversation: Conversation) -> Sharing:
    """Returns the people and teams that have access to the conversation, sorted by name."""
    query = (
        select(ConversationShare, User.name)
        .join(User, User.id == ConversationShare.user_id)
        .where(ConversationShare.conversation_id == conversation.id)
        .order_by(User.name, User.id)
    )
    people = [
        SharedPerson(user_id=share.user_id, name=name, access=share.role, created_at=share.created_at)
        for share, name in await session.execute(query)
    ]
    teams_query = (
        select(ConversationTeamShare, Team.name, member_count())
        .join(Team, Team.id == ConversationTeamShare.team_id)
        .where(ConversationTeamShare.conversation_id == conversation.id)
        .order_by(Team.name_key)
    )
    teams = [
        SharedTeam(
            team_id=share.team_id,
            name=name,
            access=share.role,
            member_count=count,
            created_at=share.created_at,
        )
        for share, name, count in await session.execute(teams_query)
    ]
    return Sharing(everyone=conversation.everyone_role, people=people, teams=teams)
