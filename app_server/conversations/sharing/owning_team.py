"""Connects new conversations with the team that owns their repository. For such a conversation, the settings
of this team take priority over those of the user's other teams, and the members of this team may see the
conversation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import ActorMeans, AuditAction, AuditTarget
from app_server.audit.chain import Actor
from app_server.conversations.models import Conversation
from app_server.conversations.repositories.submodules import KeptSubmodule
from app_server.conversations.sharing.models import ConversationTeamShare, ShareRole
from app_server.git.address import Address, parse_address
from app_server.teams.repositories.first_team import put_first
from app_server.teams.repositories.models import ConversationTeam, MembersSee
from app_server.teams.repositories.ownership import OwningTeam, owner_of, require_member
from app_server.users.models import User


@dataclass(frozen=True)
class TeamOfStart:
    """The team that owns the first repository of a new conversation. `share`: what the team's members may do
    with the conversation; None if the members may not see the conversation.
    """

    team: OwningTeam
    share: ShareRole | None


async def team_for_start(
    session: AsyncSession, user: User, first: Address | None, further: Sequence[Address]
) -> TeamOfStart | None:
    """Returns the user's team that owns the first repository of a new conversation, and what its members may
    do with the conversation. Returns None if no team of the user owns this repository.

    Also stores the team in `session`: settings that are read in this session later come first from this team,
    before the user's other teams.

    `first`: the address of the first repository; None if there is none. `further`: the addresses of the other
    repositories. Raises Forbidden `repository_of_team` if one of the repositories belongs to a team that
    allows it only to its members, and the user is not a member.
    """
    identities = [first.identity if first else None, *(each.identity for each in further)]
    owner, *others = await require_member(session, user.id, identities)
    if owner is None or not owner.is_member:
        return None
    put_first(session, owner.id)
    # What another team keeps for its members must not be shown to the members of this one.
    is_private = any(one is not None and one.members_only and one.id != owner.id for one in others)
    see = MembersSee.NONE if is_private else owner.members_see
    return TeamOfStart(owner, None if see is MembersSee.NONE else ShareRole(see.value))


async def hide_from_other_team(
    session: AsyncSession, user: User, conversation: Conversation, named: OwningTeam | None
) -> None:
    """Ends the access of the conversation's team if the user selects a repository that only members of
    another team may use. Otherwise the members of the first team could see data of this repository.

    `named`: the team that owns the selected repository; None if no team owns it. `user`: the person whose
    action is written into the audit log.
    """
    team_id = await _other_team(session, conversation, named)
    if team_id is None:
        return
    share = delete(ConversationTeamShare).where(
        ConversationTeamShare.conversation_id == conversation.id, ConversationTeamShare.team_id == team_id
    )
    if await session.scalar(share.returning(ConversationTeamShare.team_id)) is not None:
        trail = AuditTrail(Actor(ActorMeans.SERVER, user_id=user.id, name=user.name))
        target = (AuditTarget.CONVERSATION, conversation.id)
        trail.record(session, AuditAction.CONVERSATION_UNSHARED, target, team_id=team_id.hex)


async def refuse_submodules_of_other_teams(
    session: AsyncSession, conversation: Conversation, found: Sequence[KeptSubmodule]
) -> None:
    """Forbids the fetching of submodules whose repository only members of a certain team may use. A submodule
    is forbidden if the user is not a member of this team, or if the conversation belongs to another team.

    Writes the reason into the field `reason` of each forbidden submodule in `found`. A submodule with a
    reason is not fetched.
    """
    for one in found:
        if one.reason is not None:
            continue
        owner = await owner_of(session, conversation.user_id, parse_address(one.repository).identity)
        if owner is None or not owner.members_only:
            continue
        if not owner.is_member or await _other_team(session, conversation, owner) is not None:
            one.reason = f"it is only for members of the team {owner.name!r}"


async def _other_team(
    session: AsyncSession, conversation: Conversation, named: OwningTeam | None
) -> UUID | None:
    """Returns the id of the team to which the conversation belongs, if the members of this team must not see
    the repository of the team `named`. Returns None if there is no such conflict.

    There is a conflict if `named` is a different team and allows its repository only to its own members.
    `named`: the team that owns a repository of the conversation; None if no team owns it.
    """
    if named is None or not named.members_only:
        return None
    team = await session.get(ConversationTeam, conversation.id)
    return team.team_id if team is not None and team.team_id != named.id else None


async def leave_team(session: AsyncSession, conversation: Conversation) -> None:
    """Removes the conversation from its team and ends the access of the team's members. Called when a failed
    start is retried with another repository, because another team may own that repository.
    """
    statement = delete(ConversationTeam).where(ConversationTeam.conversation_id == conversation.id)
    team_id = await session.scalar(statement.returning(ConversationTeam.team_id))
    await session.execute(
        delete(ConversationTeamShare).where(
            ConversationTeamShare.conversation_id == conversation.id, ConversationTeamShare.team_id == team_id
        )
    )


def give_to_team(session: AsyncSession, user: User, conversation: Conversation, found: TeamOfStart) -> None:
    """Stores that a new conversation belongs to a team. Also shares the conversation with the team's members,
    unless `found.share` is None, and writes this into the audit log.

    `found`: the team that owns the conversation's first repository, and what its members may do with the
    conversation. `user`: the person who starts the conversation; the audit log entry names this person.
    """
    team, role = found.team, found.share
    session.add(
        ConversationTeam(conversation_id=conversation.id, sandbox_id=conversation.sandbox_id, team_id=team.id)
    )
    if role is None:
        return
    session.add(ConversationTeamShare(conversation_id=conversation.id, team_id=team.id, role=role))
    trail = AuditTrail(Actor(ActorMeans.SERVER, user_id=user.id, name=user.name))
    trail.record(
        session,
        AuditAction.CONVERSATION_SHARED,
        (AuditTarget.CONVERSATION, conversation.id),
        team_id=team.id.hex,
        team_name=team.name,
        role=role,
        of_repository=True,
    )
