"""Finds the team that owns a repository. Only this module decides which team owns a repository.

Each team has a list of repositories, whose entries are full names or patterns. If several entries match a
repository, the most specific entry counts: the full name comes before patterns, and a longer pattern comes
before a shorter one. So at most one team of an organisation owns a repository.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.errors import Forbidden
from app_server.teams.membership import teams_of
from app_server.teams.models import Team
from app_server.teams.repositories.models import MembersSee, TeamRepository, TeamRepositoryRules
from app_server.teams.repositories.names import key_of, keys_that_cover
from app_server.users.colleagues import organisation_of


@dataclass(frozen=True)
class OwningTeam:
    """The team that owns a repository, with the team's rules for conversations about the repository.

    `members_see`: the access that members get to new conversations of other members. `members_only`: whether
    only members may start conversations about the repository. `is_member`: whether the user who sends the
    request is a member.
    """

    id: UUID
    name: str
    members_see: MembersSee
    members_only: bool
    is_member: bool


async def owner_of(session: AsyncSession, user_id: UUID, identity: str | None) -> OwningTeam | None:
    """Returns the team that owns the repository in the user's organisation: the team whose list of
    repositories contains the repository's name or a pattern that matches it. The name is preferred to
    patterns, and a longer pattern to a shorter pattern. Returns None if there is no such team.

    `identity`: the repository, for example `host/owner/name` (see `Address.identity`). None means that there
    is no repository; the result is then None.
    """
    key = None if identity is None else key_of(identity)
    if key is None:
        return None
    keys = keys_that_cover(key)
    query = (
        select(TeamRepository.key, Team, TeamRepositoryRules, Team.id.in_(teams_of(user_id)))
        .join(Team, Team.id == TeamRepository.team_id)
        .outerjoin(TeamRepositoryRules, TeamRepositoryRules.team_id == Team.id)
        .where(TeamRepository.organisation_id == organisation_of(user_id), TeamRepository.key.in_(keys))
    )
    found = {row[0]: row for row in await session.execute(query)}
    for each in keys:
        if each in found:
            _, team, rules, is_member = found[each]
            return OwningTeam(
                id=team.id,
                name=team.name,
                members_see=rules.members_see if rules else MembersSee.NONE,
                members_only=rules.members_only if rules else False,
                is_member=is_member,
            )
    return None


async def require_member(
    session: AsyncSession, user_id: UUID, identities: Sequence[str | None]
) -> Sequence[OwningTeam | None]:
    """Checks that the user may start conversations about all of these repositories. Returns for each
    repository the team that owns it, or None if no team owns it.

    identities: the repositories, see `Address.identity`; None means no repository. Raises Forbidden
    `repository_of_team` if one of the repositories belongs to a team that allows only its members, and the
    user is not a member of this team.
    """
    owners = [await owner_of(session, user_id, each) for each in identities]
    for owner, identity in zip(owners, identities, strict=True):
        if owner is not None and owner.members_only and not owner.is_member:
            raise Forbidden(
                f"{identity} belongs to the team {owner.name!r}. Only its members may start conversations "
                "on it.",
                code="repository_of_team",
                fix=f"Ask an administrator to add you to the team {owner.name!r}, or choose another "
                "repository.",
                team=owner.name,
            )
    return owners
