"""What it means for a new conversation that its repository belongs to a team: the team's level comes first,
and the team's members may see it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import ActorMeans, AuditAction, AuditTarget
from app_server.audit.chain import Actor
from app_server.conversations.models import Conversation
from app_server.conversations.sharing.models import ConversationTeamShare, ShareRole
from app_server.git.address import Address
from app_server.teams.repositories.first_team import put_first
from app_server.teams.repositories.models import ConversationTeam, MembersSee
from app_server.teams.repositories.ownership import OwningTeam, require_member
from app_server.users.models import User


@dataclass(frozen=True)
class TeamOfStart:
    """The team that owns the first repository, and what its members get. `share`: None if the members may
    not see the conversation.
    """

    team: OwningTeam
    share: ShareRole | None


async def team_for_start(
    session: AsyncSession, user: User, first: Address | None, further: Sequence[Address]
) -> TeamOfStart | None:
    """Returns the user's team that owns the first repository, and puts it first in the session. Returns None
    if no team of the user owns it.

    Raises Forbidden `repository_of_team` if one of the repositories is for the members of another team.
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


async def leave_team(session: AsyncSession, conversation: Conversation) -> None:
    """Takes the conversation from its team and from the team's members, because it gets another repository
    before it has begun.
    """
    statement = delete(ConversationTeam).where(ConversationTeam.conversation_id == conversation.id)
    team_id = await session.scalar(statement.returning(ConversationTeam.team_id))
    await session.execute(
        delete(ConversationTeamShare).where(
            ConversationTeamShare.conversation_id == conversation.id, ConversationTeamShare.team_id == team_id
        )
    )


def give_to_team(session: AsyncSession, user: User, conversation: Conversation, found: TeamOfStart) -> None:
    """Stores the team of a new conversation, and shares the conversation with the members."""
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
