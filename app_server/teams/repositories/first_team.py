"""Chooses which of a person's teams has priority over the person's other teams. The priority matters if
several teams set the same setting. It also matters if they provide a secret, an MCP server, an egress rule or
a sandbox spec with the same name.

The team that owns the repository of the conversation has priority. The team's id is stored in the SQLAlchemy
session object (`session.info`), not in the database. This is possible because a session object is used for at
most one conversation.
"""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.teams.repositories.models import ConversationTeam

_KEY = "first_team"


def put_first(session: AsyncSession, team_id: UUID | None) -> None:
    """Gives a team priority over the person's other teams. This applies to all settings, secrets and other
    values of teams that are read later with this session object. `team_id`: None means that no team has
    priority.
    """
    session.info[_KEY] = team_id


def first_team(session: AsyncSession) -> UUID | None:
    """Returns the id of the team that was given priority in this session object (see `put_first`). Returns
    None if no team has priority.
    """
    team_id: UUID | None = session.info.get(_KEY)
    return team_id


async def put_team_of_sandbox_first(session: AsyncSession, sandbox_id: UUID) -> None:
    """Gives priority in this session object to the team to which the conversations in the sandbox belong (see
    `team_of_sandbox`). If they belong to no team, no team has priority.
    """
    put_first(session, await team_of_sandbox(session, sandbox_id))


async def team_of_sandbox(session: AsyncSession, sandbox_id: UUID) -> UUID | None:
    """Returns the id of the team to which the conversations in a sandbox belong. This is the team that owns
    their repository, if a member of this team has started them. Otherwise, returns None.
    """
    query = select(ConversationTeam.team_id).where(ConversationTeam.sandbox_id == sandbox_id).limit(1)
    return await session.scalar(query)
