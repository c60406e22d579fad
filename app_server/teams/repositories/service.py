"""Shows and changes the repositories of teams, and sets which members may change the lists of
repositories.
"""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.errors import Conflict, Forbidden, NotFound
from app_server.teams.membership import visible_teams
from app_server.teams.models import Team, TeamMember
from app_server.teams.repositories.models import (
    MembersSee,
    TeamMaintainer,
    TeamRepository,
    TeamRepositoryRules,
)
from app_server.teams.repositories.names import key_of_entry
from app_server.teams.repositories.schemas import SaveTeamRepositories, TeamRepositories
from app_server.teams.service import team_not_found
from app_server.users.models import User


async def show(
    session: AsyncSession, user_id: UUID, team_id: UUID, *, is_administrator: bool
) -> TeamRepositories:
    """Returns the repositories of a team, the rules for conversations about them, and whether the user may
    change the list and the rules. Raises NotFound `team_not_found` if the team does not exist, or if the user
    may not see it.
    """
    query = visible_teams(user_id, sees_all=is_administrator).where(Team.id == team_id)
    if await session.scalar(query) is None:
        raise team_not_found()
    rules = await _rules(session, team_id)
    may_change = is_administrator or await session.get(TeamMaintainer, (team_id, user_id)) is not None
    return TeamRepositories(
        repositories=[*(await _entries(session, team_id)).values()],
        members_see=rules.members_see,
        members_only=rules.members_only,
        may_change=may_change,
        may_restrict=is_administrator,
    )


async def save(
    session: AsyncSession,
    user_id: UUID,
    trail: AuditTrail,
    team_id: UUID,
    wanted: SaveTeamRepositories,
    *,
    is_administrator: bool,
) -> None:
    """Replaces the list of a team's repositories and the rules for conversations about them.

    user_id: the user who makes the change. Raises NotFound `team_not_found` if the team does not exist or the
    user may not see it. Raises Forbidden `not_maintainer` if the user is neither an administrator nor a
    maintainer of the team. Raises Forbidden `members_only_not_allowed` if the user changes `members_only`
    without being an administrator. Raises BadRequest `repository_name_wrong` if a name does not have the
    right form. Raises Conflict `repository_taken` if a repository belongs to another team.
    """
    # Of two requests at once, the second waits: both would insert the first rules of the team.
    await session.execute(select(Team.id).where(Team.id == team_id).with_for_update(key_share=True))
    shown = await show(session, user_id, team_id, is_administrator=is_administrator)
    _require_allowed(shown, wanted)
    team = await session.get_one(Team, team_id)
    before = await _entries(session, team_id)
    after = {key_of_entry(name): name for name in wanted.repositories}
    await _replace(session, team, before, after)
    rules = await _rules(session, team_id)
    rules.members_see = wanted.members_see
    if wanted.members_only is not None:
        rules.members_only = wanted.members_only
    session.add(rules)
    await session.flush()
    target = (AuditTarget.TEAM, team_id)
    trail.record(
        session,
        AuditAction.TEAM_REPOSITORIES_CHANGED,
        target,
        name=team.name,
        added=sorted(after.keys() - before.keys()),
        removed=sorted(before.keys() - after.keys()),
        members_see=rules.members_see,
        members_only=rules.members_only,
    )


async def set_maintainer(
    session: AsyncSession, trail: AuditTrail, team: Team, person_id: UUID, *, is_maintainer: bool
) -> None:
    """Gives or takes the right to change the list of the team's repositories. A member with this right is a
    maintainer of the team.

    `is_maintainer`: True makes the member a maintainer, False makes a maintainer an ordinary member. Nothing
    changes if the member already is what is requested. Raises NotFound `team_member_not_found` if the person
    is not a member of the team.
    """
    if await session.get(TeamMember, (team.id, person_id)) is None:
        raise NotFound("This person is not in the team.", code="team_member_not_found")
    row = await session.get(TeamMaintainer, (team.id, person_id))
    if (row is not None) == is_maintainer:
        return
    if row is None:
        session.add(TeamMaintainer(team_id=team.id, user_id=person_id))
    else:
        await session.delete(row)
    await session.flush()
    person = await session.get_one(User, person_id)
    action = AuditAction.TEAM_MAINTAINER_ADDED if is_maintainer else AuditAction.TEAM_MAINTAINER_REMOVED
    target = (AuditTarget.TEAM, team.id)
    trail.record(session, action, target, name=team.name, person_id=person_id.hex, person_name=person.name)


def _require_allowed(shown: TeamRepositories, wanted: SaveTeamRepositories) -> None:
    if not shown.may_change:
        raise Forbidden(
            "Only administrators and the team's maintainers may change its repositories.",
            code="not_maintainer",
            fix="Ask an administrator to make you a maintainer of the team.",
        )
    if wanted.members_only not in {None, shown.members_only} and not shown.may_restrict:
        raise Forbidden(
            "Only administrators may decide whether the repositories are for members only.",
            code="members_only_not_allowed",
            fix="Leave members_only out, or ask an administrator.",
        )


async def _replace(
    session: AsyncSession, team: Team, before: Mapping[str, str], after: Mapping[str, str]
) -> None:
    gone, new = before.keys() - after.keys(), sorted(after.keys() - before.keys())
    await session.execute(
        delete(TeamRepository).where(TeamRepository.team_id == team.id, TeamRepository.key.in_(gone))
    )
    query = select(TeamRepository.name, Team.name).join(Team, Team.id == TeamRepository.team_id)
    taken = TeamRepository.organisation_id == team.organisation_id, TeamRepository.key.in_(new)
    for name, other in await session.execute(query.where(*taken).limit(1)):
        raise _taken(name, f"the team {other!r}")
    session.add_all(
        TeamRepository(organisation_id=team.organisation_id, key=key, team_id=team.id, name=after[key])
        for key in new
    )
    try:
        await session.flush()
    except IntegrityError as error:
        # Another request has added it, or deleted the team, at the same moment.
        raise _taken("One of the repositories", "another team") from error


def _taken(name: str, owner: str) -> Conflict:
    return Conflict(
        f"{name} belongs to {owner} already.",
        code="repository_taken",
        fix="Leave it out, or ask an administrator to remove it there.",
    )


async def _entries(session: AsyncSession, team_id: UUID) -> dict[str, str]:
    """Returns the entries of a team's list of repositories, sorted by key. An entry is the name of a
    repository or a pattern. The dictionary contains for each entry its key (see names.py), and the text that
    the user has entered, such as `github.com/Owner/Name`.
    """
    query = select(TeamRepository).where(TeamRepository.team_id == team_id).order_by(TeamRepository.key)
    return {row.key: row.name for row in await session.scalars(query)}


async def _rules(session: AsyncSession, team_id: UUID) -> TeamRepositoryRules:
    """Returns a team's rules for conversations about its repositories. If no rules are stored, returns a new
    row with the default rules. This row is not in the database yet.
    """
    return await session.get(TeamRepositoryRules, team_id) or TeamRepositoryRules(
        team_id=team_id, members_see=MembersSee.NONE, members_only=False
    )
