"""Stores in the database session which team's values are used first.

Several teams of a person may set the same setting or item. The team that owns the repository of the
conversation comes first. A database session reads for at most one conversation, so this team is stored in the
session.
"""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.teams.repositories.models import ConversationTeam

_KEY = "first_team"


def put_first(session: AsyncSession, team_id: UUID | None) -> None:
    """Makes the values of this team come before those of other teams in all later reads of this database
    session. `team_id`: None means that no team comes first.
    """
    session.info[_KEY] = team_id


def first_team(session: AsyncSession) -> UUID | None:
    """Returns the team whose values come first in this database session. Returns None if no team was put
    first.
    """
    team_id: UUID | None = session.info.get(_KEY)
    return team_id


async def put_team_of_sandbox_first(session: AsyncSession, sandbox_id: UUID) -> None:
    """Makes the values of one team come first: the team that owns the repository of the sandbox's
    conversations.
    """
    put_first(session, await team_of_sandbox(session, sandbox_id))


async def team_of_sandbox(session: AsyncSession, sandbox_id: UUID) -> UUID | None:
    """Returns the team that owns the repository of the conversations in a sandbox. Returns None if no team
    owns it.
    """
    query = select(ConversationTeam.team_id).where(ConversationTeam.sandbox_id == sandbox_id).limit(1)
    return await session.scalar(query)
