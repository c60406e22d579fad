"""Reads, creates, changes and deletes the teams that an identity provider manages. In SCIM, a team is a
group.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from scim2_models import InvalidValueException, Meta, UniquenessException
from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.core.database import now
from app_server.core.errors import Conflict
from app_server.core.pubsub import LOOK, PubSub, publish_after_commit
from app_server.scim.people import check_external_id
from app_server.scim.resources import MemberOfGroup, ScimGroup
from app_server.teams import service
from app_server.teams.models import ProvisionedTeam, Team, TeamMember, name_key_of
from app_server.users.models import User
from app_server.users.organisations import DEFAULT_ORGANISATION_ID
from app_server.users.provisioning import ProvisionedPerson

MAX_NAME_CHARACTERS = 100
PROVIDER = "SCIM"
"""The name of the provider that is stored with team memberships that SCIM requests create. It is in capital
letters, so that it differs from the names of all sign-in providers.
"""


@dataclass(frozen=True)
class Groups:
    """The operations on the teams that an identity provider manages. In SCIM, these teams are groups.

    A group shows only those members of the team whose accounts the identity provider manages too. `base`: the
    URL of Slipway's SCIM service.
    """

    session: AsyncSession
    trail: AuditTrail
    pubsub: PubSub
    base: str

    async def read(self, only: UUID | None = None) -> list[Any]:
        """Returns the teams that the identity provider manages, as SCIM groups in the order of their
        creation.

        `only`: the id of a single team to return; None means all teams. Returns an empty list if the provider
        manages no such team.
        """
        query = (
            select(ProvisionedTeam, Team)
            .join(Team, Team.id == ProvisionedTeam.team_id)
            .order_by(Team.created_at, Team.id)
        )
        if only is not None:
            query = query.where(Team.id == only)
        rows = (await self.session.execute(query)).all()
        members = await self._members(only)
        return [self._resource(row, team, members.get(team.id, [])) for row, team in rows]

    async def create(self, given: Any) -> UUID:
        """Creates a team in the default organisation for a SCIM group, and returns the id of the team. From
        then on, the identity provider manages the team. If the organisation already has a team with this name
        that the provider does not manage, this team is used and no new team is created.

        `given`: the SCIM group with the name and the members. Raises UniquenessException if the provider
        already manages a team with this name. Raises InvalidValueException if the group is not valid. Raises
        Conflict `too_many_teams` if the organisation would get too many teams. Raises Conflict
        `too_many_members` if the team would get too many members.
        """
        name = _checked(given)
        query = select(Team).where(
            Team.name_key == name_key_of(name, DEFAULT_ORGANISATION_ID),
            Team.organisation_id == DEFAULT_ORGANISATION_ID,
        )
        team = await self.session.scalar(query)
        if team is not None and await self.session.get(ProvisionedTeam, team.id) is not None:
            raise _taken(name)
        team = team or await service.create_team(self.session, self.trail, name, DEFAULT_ORGANISATION_ID)
        self.session.add(ProvisionedTeam(team_id=team.id, external_id=given.external_id))
        await self._set_members(team, given)
        await self.session.flush()
        return team.id

    async def replace(self, id_: UUID, _patched: Any | None, given: Any) -> None:
        """Changes the name, the external id and the members of a team to those of the SCIM group `given`.
        Members of the team whose accounts the identity provider does not manage remain members. `_patched`:
        not used; the common interface of people and teams (endpoint.Collection) requires this parameter.

        Raises UniquenessException if another team has the name. Raises InvalidValueException if the group is
        not valid. Raises Conflict `too_many_members` if the group has more members than a team can have.
        """
        name = _checked(given)
        team = await self.session.get_one(Team, id_)
        try:
            await service.rename_team(self.session, self.trail, team, name)
        except Conflict as error:
            raise _taken(name) from error
        row = await self.session.get_one(ProvisionedTeam, id_)
        row.external_id, row.updated_at = given.external_id, now()
        await self._set_members(team, given)
        await self.session.flush()

    async def delete(self, id_: UUID) -> None:
        """Deletes the team with this id. The accounts of its members are not deleted."""
        await service.delete_team(self.session, self.trail, await self.session.get_one(Team, id_))
        publish_after_commit(self.session, self.pubsub, id_, [LOOK])

    async def _set_members(self, team: Team, given: Any) -> None:
        wanted = {_id_of(member.value) for member in given.members or ()}
        known = set(await self.session.scalars(_managed().where(ProvisionedPerson.user_id.in_(wanted))))
        if unknown := wanted - known:
            raise InvalidValueException(detail=f"There is no user with the id {min(unknown).hex}.")
        in_team = select(TeamMember.user_id).where(TeamMember.team_id == team.id)
        before = set(await self.session.scalars(_managed().where(ProvisionedPerson.user_id.in_(in_team))))
        for person_id in sorted(before - wanted):
            await service.remove_member(self.session, self.trail, team, person_id, PROVIDER)
        for person_id in sorted(wanted - before):
            await service.add_member(self.session, self.trail, team, person_id, PROVIDER)
        for person_id in before ^ wanted:
            publish_after_commit(self.session, self.pubsub, person_id, [LOOK])

    async def _members(self, only: UUID | None) -> dict[UUID, list[User]]:
        query = (
            select(TeamMember.team_id, User)
            .join(User, User.id == TeamMember.user_id)
            .where(User.id.in_(_managed()))
            .order_by(User.name, User.id)
        )
        if only is not None:
            query = query.where(TeamMember.team_id == only)
        found: dict[UUID, list[User]] = {}
        for team_id, user in await self.session.execute(query):
            found.setdefault(team_id, []).append(user)
        return found

    def _resource(self, row: ProvisionedTeam, team: Team, members: list[User]) -> Any:
        return ScimGroup(
            id=team.id.hex,
            external_id=row.external_id,
            display_name=team.name,
            members=[
                MemberOfGroup(
                    value=person.id.hex,
                    ref=f"{self.base}/Users/{person.id.hex}",
                    type="User",
                )
                for person in members
            ]
            or None,
            meta=Meta(
                resource_type="Group",
                created=team.created_at,
                last_modified=row.updated_at,
                location=f"{self.base}/Groups/{team.id.hex}",
            ),
        )


def _managed() -> Select[UUID]:
    """Returns the database query for the ids of the users whose accounts the identity provider manages."""
    return select(ProvisionedPerson.user_id).where(ProvisionedPerson.removed_at.is_(None))


def _checked(given: Any) -> str:
    """Checks the name and the external id of a SCIM group that the identity provider has sent. Returns the
    name without spaces around it. Raises InvalidValueException if the name is missing, or if the name or the
    external id is too long.
    """
    name = str(given.display_name or "").strip()
    if not 0 < len(name) <= MAX_NAME_CHARACTERS:
        raise InvalidValueException(detail=f"displayName must have 1 to {MAX_NAME_CHARACTERS} characters")
    check_external_id(given)
    return name


def _taken(name: str) -> UniquenessException:
    return UniquenessException(detail=f"There is a group {name!r} already.")


def _id_of(text: str | None) -> UUID:
    try:
        return UUID(text or "")
    except ValueError as error:
        raise InvalidValueException(detail=f"There is no user with the id {text!r}.") from error
