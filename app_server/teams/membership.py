"""Database queries for the teams of which a person is a member, and for the teams that a person may see."""

from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, select

from app_server.teams.models import Team, TeamMember
from app_server.users.colleagues import organisation_of


def teams_of(user_id: UUID | None) -> Select[UUID]:
    """Returns a database query that selects the ids of the teams of which the person is a member. If
    `user_id` is None, the query selects no teams.
    """
    return select(TeamMember.team_id).where(TeamMember.user_id == user_id)


def visible_teams(user_id: UUID, *, sees_all: bool) -> Select[Team]:
    """Returns the database query for the teams that the person may see, sorted by name.

    sees_all: True for administrators, who see all teams of their organisation. Other people see only the
    teams of which they are members.
    """
    query = select(Team).where(Team.organisation_id == organisation_of(user_id)).order_by(Team.name_key)
    return query if sees_all else query.where(Team.id.in_(teams_of(user_id)))


def member_count() -> ColumnElement[int]:
    """Returns the SQL expression for the number of a team's members. It is used as a column in a query for
    teams.
    """
    count = select(func.count()).where(TeamMember.team_id == Team.id)
    return count.correlate(Team).scalar_subquery()
