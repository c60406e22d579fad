"""Updates the teams of a person who signs in at an identity provider. The configuration assigns teams to
groups at the provider. The person becomes a member of the teams that are assigned to the person's groups.
"""

from collections.abc import Collection

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.teams.models import Team, TeamMember, name_key_of
from app_server.teams.service import add_member, create_team, remove_member
from app_server.users.models import User


async def set_teams(
    session: AsyncSession, trail: AuditTrail, person: User, provider: str, names: Collection[str]
) -> None:
    """Adds the person to the teams with these names. Removes the person from all other teams to which this
    identity provider (`provider`) has added the person before. Creates teams that do not exist yet in the
    person's organisation.

    Memberships that an administrator has added do not change. Raises Conflict `too_many_teams` if the
    organisation has the maximum number of teams. Raises Conflict `too_many_members` if a team has the maximum
    number of members.
    """
    organisation_id = person.organisation_id
    wanted = {name_key_of(name, organisation_id): name for name in names}
    of_organisation = Team.organisation_id == organisation_id
    found = await session.scalars(select(Team).where(Team.name_key.in_(wanted), of_organisation))
    teams = {team.name_key: team for team in found}
    for key in sorted(wanted.keys() - teams.keys()):
        teams[key] = await create_team(session, trail, wanted[key], organisation_id)
    given = await session.scalars(
        select(Team)
        .join(TeamMember, TeamMember.team_id == Team.id)
        .where(TeamMember.user_id == person.id, TeamMember.provider == provider)
    )
    for team in given.all():
        if team.name_key not in teams:
            await remove_member(session, trail, team, person.id, provider)
    for team in teams.values():
        if await session.get(TeamMember, (team.id, person.id)) is None:
            await add_member(session, trail, team, person.id, provider)
