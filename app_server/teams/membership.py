"""Finds the teams that a person is in, and the teams that a person may see."""

from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, select

from app_server.teams.models import Team, TeamMember
from app_server.users.colleagues import organisation_of


def teams_of(user_id: UUID | None) -> Select[UUID]:
    """Returns the query for the ids of the teams that the person is in. `user_id`: None means no teams."""
    return select(TeamMember.team_id).where(TeamMember.user_id == user_id)


def visible_teams(user_id: UUID, *, sees_all: bool) -> Select[Team]:
    """Returns the query for the teams that the person may see, sorted by name.

    sees_all: True for an administrator, who sees all teams of the organisation. Other people see the teams
    that they are in.
    """
    query = select(Team).where(Team.organisation_id == organisation_of(user_id)).order_by(Team.name_key)
    return query if sees_all else query.where(Team.id.in_(teams_of(user_id)))


def member_count() -> ColumnElement[int]:
    """Returns the number of people in a team, as a column of a query for teams."""
    count = select(func.count()).where(TeamMember.team_id == Team.id)
    return count.correlate(Team).scalar_subquery()
