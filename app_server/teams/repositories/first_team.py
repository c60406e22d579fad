"""Stores in a database session which of a person's teams has priority. The priority matters if several teams
set the same setting, or provide a secret, an MCP server, an egress rule or a sandbox spec with the same name.

The team that owns the repository of the conversation has priority. One database session is used for at most
one conversation. Therefore the team can be stored in the database session.
"""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.teams.repositories.models import ConversationTeam

_KEY = "first_team"


def put_first(session: AsyncSession, team_id: UUID | None) -> None:
    """Sets the team whose values have priority over the values of other teams, for all later reads in this
    database session. `team_id`: None means that no team has priority.
    """
    session.info[_KEY] = team_id


def first_team(session: AsyncSession) -> UUID | None:
    """Returns the id of the team that has priority over other teams in this database session. Returns None if
    no team has priority.
    """
    team_id: UUID | None = session.info.get(_KEY)
    return team_id


async def put_team_of_sandbox_first(session: AsyncSession, sandbox_id: UUID) -> None:
    """Gives a team priority over other teams in this database session: the team that owns the repository of
    the conversations in the sandbox. If no team owns the repository, no team has priority.
    """
    put_first(session, await team_of_sandbox(session, sandbox_id))


async def team_of_sandbox(session: AsyncSession, sandbox_id: UUID) -> UUID | None:
    """Returns the id of the team that owns the repository of the conversations in a sandbox. Returns None if
    no team owns the repository.
    """
    query = select(ConversationTeam.team_id).where(ConversationTeam.sandbox_id == sandbox_id).limit(1)
    return await session.scalar(query)
