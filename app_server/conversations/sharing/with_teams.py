"""Shares conversations with teams. Only the owner of a conversation may share the conversation."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Select, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.access.permissions import Permission
from app_server.access.principal import Principal
from app_server.conversations.sharing.access import Access, require_access
from app_server.conversations.sharing.models import ConversationTeamShare, ShareRole
from app_server.conversations.sharing.schemas import Sharing
from app_server.conversations.sharing.service import (
    MAX_CANDIDATES,
    record_shared,
    record_unshared,
    show,
    too_many,
)
from app_server.core.errors import NotFound
from app_server.teams.membership import visible_teams
from app_server.teams.models import Team
from app_server.teams.service import team_not_found

MAX_TEAMS_OF_CONVERSATION = 50


async def share_with_team(
    session: AsyncSession,
    principal: Principal,
    trail: AuditTrail,
    conversation_id: UUID,
    team_id: UUID,
    role: ShareRole,
) -> Sharing:
    """Shares the conversation with a team, or changes what the team may do with it. Returns the people and
    teams that now have access.

    Raises NotFound if the user may not see the conversation. Raises NotFound `team_not_found` if the user may
    not see the team. Raises Forbidden `conversation_access_missing` if the user is not the owner of the
    conversation. Raises Conflict `too_many_teams` if the conversation is shared with the maximum number of
    teams.
    """
    conversation = await require_access(session, principal.user.id, conversation_id, Access.OWN)
    share = await session.get(ConversationTeamShare, (conversation_id, team_id))
    if share is not None and share.role == role:
        return await show(session, conversation)
    if share is None:
        team = await session.scalar(_visible_to(principal).where(Team.id == team_id))
        if team is None:
            raise team_not_found()
        count = select(func.count()).where(ConversationTeamShare.conversation_id == conversation_id)
        if (await session.scalar(count) or 0) >= MAX_TEAMS_OF_CONVERSATION:
            raise too_many("teams", MAX_TEAMS_OF_CONVERSATION)
        session.add(ConversationTeamShare(conversation_id=conversation_id, team_id=team_id, role=role))
    else:
        team = await session.get_one(Team, team_id)
        share.role = role
    details = {"team_id": team_id.hex, "team_name": team.name, "role": role}
    return await record_shared(session, trail, conversation, details)


async def stop_sharing_with_team(
    session: AsyncSession, user_id: UUID, trail: AuditTrail, conversation_id: UUID, team_id: UUID
) -> Sharing:
    """Ends the sharing of the conversation with a team. Returns the people and teams that still have access.
    Raises NotFound if the user may not see the conversation. Raises NotFound `share_not_found` if the
    conversation is not shared with the team. Raises Forbidden `conversation_access_missing` if the user is
    not the owner.
    """
    conversation = await require_access(session, user_id, conversation_id, Access.OWN)
    statement = delete(ConversationTeamShare).where(
        ConversationTeamShare.conversation_id == conversation_id, ConversationTeamShare.team_id == team_id
    )
    if await session.scalar(statement.returning(ConversationTeamShare.team_id)) is None:
        raise NotFound("The conversation is not shared with this team.", code="share_not_found")
    return await record_unshared(session, trail, conversation, {"team_id": team_id.hex})


async def team_candidates(
    session: AsyncSession, principal: Principal, conversation_id: UUID, text: str
) -> Sequence[Team]:
    """Returns up to 20 teams with which the user can share the conversation, sorted by name. These are teams
    that the user may see and whose name contains `text`.

    Raises NotFound if the user may not see the conversation. Raises Forbidden `conversation_access_missing`
    if the user is not its owner.
    """
    await require_access(session, principal.user.id, conversation_id, Access.OWN)
    query = _visible_to(principal).where(Team.name.icontains(text, autoescape=True))
    return (await session.scalars(query.limit(MAX_CANDIDATES))).all()


def _visible_to(principal: Principal) -> Select[Team]:
    return visible_teams(principal.user.id, sees_all=principal.may(Permission.ADMINISTER))
