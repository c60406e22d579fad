"""Sets the teams of a person who signs in by an identity provider, from the groups of the provider."""

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.teams.models import Team, TeamMember
from app_server.teams.service import add_member, create_team, name_key, remove_member


async def set_teams(
    session: AsyncSession, trail: AuditTrail, person_id: UUID, provider: str, names: Collection[str]
) -> None:
    """Puts the person into the teams with these names, and removes the person from the teams that the same
    provider gave before. Teams that do not exist are created. Memberships that an administrator gave stay.

    Raises Conflict `too_many_teams`, `too_many_members`.
    """
    wanted = {name_key(name): name for name in names}
    teams = await session.scalars(select(Team).where(Team.name_key.in_(wanted)))
    ids = {team.name_key: team.id for team in teams}
    for key in sorted(wanted.keys() - ids.keys()):
        ids[key] = (await create_team(session, trail, wanted[key])).id
    given = await session.scalars(
        select(TeamMember.team_id).where(TeamMember.user_id == person_id, TeamMember.provider == provider)
    )
    for team_id in set(given) - set(ids.values()):
        await remove_member(session, trail, team_id, person_id, provider)
    for team_id in ids.values():
        if await session.get(TeamMember, (team_id, person_id)) is None:
            await add_member(session, trail, team_id, person_id, provider)
