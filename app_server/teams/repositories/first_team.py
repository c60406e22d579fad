"""Which of a person's teams comes first where several teams set the same thing: the team that owns the
repository of the conversation.

A database session works for one conversation at most, so it carries the team.
"""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.teams.repositories.models import ConversationTeam

_KEY = "first_team"


def put_first(session: AsyncSession, team_id: UUID | None) -> None:
    """Makes the values of this team come first among those of teams, for all later reads of this session."""
    session.info[_KEY] = team_id


def first_team(session: AsyncSession) -> UUID | None:
    """Returns the team that comes first in this session. Returns None if no team does."""
    team_id: UUID | None = session.info.get(_KEY)
    return team_id


async def put_team_of_sandbox_first(session: AsyncSession, sandbox_id: UUID) -> None:
    """Makes the team come first that owns the repository of the sandbox's conversations."""
    put_first(session, await team_of_sandbox(session, sandbox_id))


async def team_of_sandbox(session: AsyncSession, sandbox_id: UUID) -> UUID | None:
    """Returns the team of the conversations in a sandbox. Returns None if they have none."""
    query = select(ConversationTeam.team_id).where(ConversationTeam.sandbox_id == sandbox_id).limit(1)
    return await session.scalar(query)
