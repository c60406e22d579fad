"""Creates, renames and deletes teams, and adds and removes their members."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import and_, delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.errors import Conflict, NotFound
from app_server.teams.membership import member_count, teams_of, visible_teams
from app_server.teams.models import Team, TeamMember, name_key_of
from app_server.teams.repositories.models import TeamMaintainer
from app_server.teams.schemas import TeamDetails, TeamInfo, TeamMemberInfo
from app_server.users.models import User

MAX_TEAMS = 200
MAX_MEMBERS = 1000


async def list_teams(session: AsyncSession, user_id: UUID, *, sees_all: bool) -> list[TeamInfo]:
    """Returns the teams that the person may see, sorted by name. sees_all: True for administrators, who see
    all teams of their organisation.
    """
    query = visible_teams(user_id, sees_all=sees_all).add_columns(
        member_count(), Team.id.in_(teams_of(user_id))
    )
    return [
        TeamInfo(
            id=team.id, name=team.name, created_at=team.created_at, member_count=count, is_member=is_member
        )
        for team, count, is_member in await session.execute(query)
    ]


async def show_team(session: AsyncSession, user_id: UUID, team_id: UUID, *, sees_all: bool) -> TeamDetails:
    """Returns one team with its members. Raises NotFound `team_not_found` if the team does not exist, or if
    the person may not see it. sees_all: True for administrators, who see all teams of their organisation.
    """
    query = visible_teams(user_id, sees_all=sees_all).where(Team.id == team_id)
    team = await session.scalar(query)
    if team is None:
        raise team_not_found()
    members = await _members(session, team_id)
    return TeamDetails(
        id=team.id,
        name=team.name,
        created_at=team.created_at,
        member_count=len(members),
        is_member=any(member.user_id == user_id for member in members),
        members=members,
    )


async def create_team(session: AsyncSession, trail: AuditTrail, name: str, organisation_id: UUID) -> Team:
    """Creates a team without members in an organisation, and returns the team. Raises Conflict
    `team_name_taken` if another team of the organisation has this name. Raises Conflict `too_many_teams` if
    the organisation has 200 teams.
    """
    count = select(func.count()).where(Team.organisation_id == organisation_id)
    if (await session.scalar(count) or 0) >= MAX_TEAMS:
        raise Conflict(
            f"There are {MAX_TEAMS} teams, which is the limit.",
            code="too_many_teams",
            fix="Delete a team that is no longer used.",
        )
    team = Team(organisation_id=organisation_id, name=name, name_key=name_key_of(name, organisation_id))
    session.add(team)
    await _flush(session)
    trail.record(session, AuditAction.TEAM_CREATED, (AuditTarget.TEAM, team.id), name=name)
    return team


async def rename_team(session: AsyncSession, trail: AuditTrail, team: Team, name: str) -> None:
    """Changes the name of a team. Raises Conflict `team_name_taken` if another team of the organisation has
    this name.
    """
    if team.name == name:
        return
    before, team.name, team.name_key = team.name, name, name_key_of(name, team.organisation_id)
    await _flush(session)
    trail.record(session, AuditAction.TEAM_RENAMED, (AuditTarget.TEAM, team.id), name=name, before=before)


async def delete_team(session: AsyncSession, trail: AuditTrail, team: Team) -> None:
    """Deletes a team. Its members lose access to the conversations that were shared with the team."""
    await session.delete(team)
    trail.record(session, AuditAction.TEAM_DELETED, (AuditTarget.TEAM, team.id), name=team.name)


async def add_member(
    session: AsyncSession, trail: AuditTrail, team: Team, person_id: UUID, provider: str | None = None
) -> None:
    """Adds a person to a team. If the person is a member already, no second membership is stored.

    provider: the name of the identity provider that adds the person; None if an administrator adds the
    person. If an administrator adds a member that a provider has added, the membership now counts as added by
    the administrator. It then remains when the person's groups at the provider change.

    Raises NotFound `person_not_found` if the person is not in the team's organisation. Raises Conflict
    `too_many_members` if the team has 1000 members.
    """
    await session.flush()
    # The lock keeps the person in this organisation until the transaction ends.
    person = await session.get(User, person_id, with_for_update={"key_share": True}, populate_existing=True)
    if person is None or person.organisation_id != team.organisation_id:
        raise NotFound("There is no such person.", code="person_not_found")
    known = await session.get(TeamMember, (team.id, person_id))
    if known is not None:
        if provider is None:
            known.provider = None
        return
    count = await session.scalar(select(func.count()).where(TeamMember.team_id == team.id))
    if (count or 0) >= MAX_MEMBERS:
        raise Conflict(f"The team has {MAX_MEMBERS} members, which is the limit.", code="too_many_members")
    try:
        async with session.begin_nested():
            session.add(TeamMember(team_id=team.id, user_id=person_id, provider=provider))
            await session.flush()
    except IntegrityError:
        # Another request has added the person, or deleted the team, at the same moment.
        return
    _record_member(session, trail, AuditAction.TEAM_MEMBER_ADDED, team, person, provider)


async def remove_member(
    session: AsyncSession, trail: AuditTrail, team: Team, person_id: UUID, provider: str | None = None
) -> None:
    """Removes a person from a team. Raises NotFound `team_member_not_found` if the person is not a member of
    the team.

    provider: the name of the identity provider that removes the person, for the audit log; None if an
    administrator removes the person.
    """
    removed = delete(TeamMember).where(TeamMember.team_id == team.id, TeamMember.user_id == person_id)
    if await session.scalar(removed.returning(TeamMember.user_id)) is None:
        raise NotFound("This person is not in the team.", code="team_member_not_found")
    person = await session.get_one(User, person_id)
    _record_member(session, trail, AuditAction.TEAM_MEMBER_REMOVED, team, person, provider)


async def find_team(session: AsyncSession, team_id: UUID, organisation_id: UUID) -> Team:
    """Returns the team with this id. Raises NotFound `team_not_found` if the team does not exist in this
    organisation.
    """
    team = await session.get(Team, team_id)
    if team is None or team.organisation_id != organisation_id:
        raise team_not_found()
    return team


def team_not_found() -> NotFound:
    return NotFound("There is no such team.", code="team_not_found")


def _record_member(
    session: AsyncSession,
    trail: AuditTrail,
    action: AuditAction,
    team: Team,
    person: User,
    provider: str | None,
) -> None:
    target = (AuditTarget.TEAM, team.id)
    trail.record(
        session,
        action,
        target,
        name=team.name,
        person_id=person.id.hex,
        person_name=person.name,
        provider=provider,
    )


async def _members(session: AsyncSession, team_id: UUID) -> Sequence[TeamMemberInfo]:
    query = (
        select(TeamMember, User, TeamMaintainer.user_id.is_not(None))
        .join(User, User.id == TeamMember.user_id)
        .outerjoin(
            TeamMaintainer,
            and_(TeamMaintainer.team_id == TeamMember.team_id, TeamMaintainer.user_id == User.id),
        )
        .where(TeamMember.team_id == team_id)
        .order_by(User.name, User.id)
    )
    return [
        TeamMemberInfo(
            user_id=person.id,
            name=person.name,
            provider=member.provider,
            is_disabled=person.disabled_at is not None,
            is_service=person.is_service,
            is_maintainer=is_maintainer,
            created_at=member.created_at,
        )
        for member, person, is_maintainer in await session.execute(query)
    ]


async def _flush(session: AsyncSession) -> None:
    try:
        await session.flush()
    except IntegrityError as error:
        raise Conflict("There is a team of this name already.", code="team_name_taken") from error
