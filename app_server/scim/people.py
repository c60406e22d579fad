"""Reads, creates, changes and removes the people whose accounts an identity provider manages. In SCIM, a
person is a User resource.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import ValidationError
from scim2_models import EnterpriseUser, InvalidValueException, Meta, UniquenessException
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access import people
from app_server.access.audit_trail import AuditTrail
from app_server.access.people_schemas import ChangePerson
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import now
from app_server.scim.resources import GivenRole, PersonResource, RoleName, ScimUser, TeamOfPerson
from app_server.sign_in.identities.accounts import users_with_address
from app_server.sign_in.invitations import create_account
from app_server.teams.models import Team, TeamMember
from app_server.users.models import Role, User
from app_server.users.organisations import DEFAULT_ORGANISATION_ID
from app_server.users.provisioning import (
    MAX_EXTERNAL_ID_CHARACTERS,
    MAX_USER_NAME_CHARACTERS,
    ProvisionedPerson,
    person_of_user_name,
    user_name_key,
)

_SCHEMAS = [str(ScimUser.__schema__), str(EnterpriseUser.__schema__)]
_KEPT_ELSEWHERE = frozenset(("schemas", "id", "meta", "userName", "externalId", "groups"))


@dataclass(frozen=True)
class People:
    """The operations on the people whose accounts the identity provider manages. In SCIM, a person is a User
    resource.

    `manager`: the user whose API key the identity provider uses. The provider may assign only the roles that
    this user may manage. `base`: the URL of Slipway's SCIM service.
    """

    session: AsyncSession
    manager: User
    trail: AuditTrail
    base: str

    async def read(self, only: UUID | None = None) -> list[Any]:
        """Returns the people that the identity provider manages, as SCIM resources in the order of their
        creation.

        `only`: the id of a single person to return; None means all people. Returns an empty list if the
        provider manages no such person.
        """
        query = (
            select(ProvisionedPerson, User)
            .join(User, User.id == ProvisionedPerson.user_id)
            .where(ProvisionedPerson.removed_at.is_(None), User.deleting_at.is_(None))
            .order_by(ProvisionedPerson.created_at, ProvisionedPerson.user_id)
        )
        if only is not None:
            query = query.where(User.id == only)
        rows = (await self.session.execute(query)).all()
        teams = await self._teams(only)
        return [self._resource(row, user, teams.get(user.id, ())) for row, user in rows]

    async def create(self, given: Any) -> UUID:
        """Creates an account for a new SCIM person and returns the id of the account.

        No new account is created in two cases. If the identity provider has removed a person with this user
        name earlier, this person's account is used again. If exactly one user has the user name as verified
        e-mail address, is in the default organisation and was never managed through SCIM, the provider
        manages this user's account from now on.

        Raises UniquenessException if the provider already manages a person with this user name. Raises
        InvalidValueException if the person's data is not valid. Raises Forbidden `role_not_manageable` if the
        provider may not give the person this role.
        """
        user_name = _checked(given)
        row = await person_of_user_name(self.session, user_name)
        if row is not None and row.removed_at is None:
            raise _taken(user_name)
        if row is None:
            user = await self._account(given, user_name)
            row = ProvisionedPerson(user_id=user.id, user_name=user_name, attributes={})
            self.session.add(row)
        user = await self.session.get_one(User, row.user_id)
        row.removed_at = None
        if given.active is None:
            given.active = True
        self._apply(row, user, given, role=_role(given))
        await self.session.flush()
        return user.id

    async def replace(self, id_: UUID, patched: Any | None, given: Any) -> None:
        """Replaces the data of a person by the data in the SCIM resource `given`.

        `patched`: for a PATCH request, the person's resource before the request; None for a PUT request. If
        the roles in `patched` and `given` are equal, the PATCH request has not changed the role.

        If the identity provider takes away a role that it has assigned before, the role becomes `member`. A
        role that an administrator of Slipway has assigned does not change, unless the provider assigns a new
        role.

        Raises UniquenessException if another person has the user name. Raises InvalidValueException if the
        person's data is not valid. Raises Forbidden `role_not_manageable` if the API key's user may not
        manage the person's current role or the new role.
        """
        user_name = _checked(given)
        other = await person_of_user_name(self.session, user_name)
        if other is not None and other.user_id != id_:
            raise _taken(user_name)
        row = await self.session.get_one(ProvisionedPerson, id_)
        user = await self.session.get_one(User, id_)
        role, is_given = _role(given), bool(row.attributes.get("roles"))
        if not is_given and patched and given.roles == patched.roles:
            # The role that is shown is an administrator's. The provider has not said anything about it.
            role = given.roles = None
        elif role is None and is_given:
            role = Role.MEMBER
        self._apply(row, user, given, role=role)
        await self.session.flush()

    async def delete(self, id_: UUID) -> None:
        """Disables the account of a person because the identity provider removes the person. The person's
        conversations and settings remain until an administrator deletes the person.

        Raises Forbidden `role_not_manageable` if the provider may not manage people with this person's role.
        """
        row = await self.session.get_one(ProvisionedPerson, id_)
        user = await self.session.get_one(User, id_)
        people.change(self.session, self.manager, self.trail, user, ChangePerson(is_disabled=True))
        row.removed_at = now()

    async def _account(self, given: Any, user_name: str) -> User:
        """Returns the account for a person that an identity provider adds through SCIM. Takes the account of
        an existing user, or creates an account.

        The existing account must meet three conditions. Its user is the only one whose verified e-mail
        address is `user_name` (identity providers often use the e-mail address as user name). The account is
        in the default organisation, whose administrators run the installation. It was never managed through
        SCIM.

        `given`: the person's data in the request, such as name and role. Raises Forbidden
        `role_not_manageable` if the identity provider may not give this role to a new account.
        """
        known = await users_with_address(self.session, user_name)
        if len(known) == 1 and await self.session.get(ProvisionedPerson, known[0]) is None:
            found = await self.session.get_one(User, known[0])
            if found.is_of_default_organisation:
                return found
        role = _role(given) or Role.MEMBER
        people.require_can_manage(self.manager, role)
        user = await create_account(
            self.session, name=_name(given), role=role, organisation_id=DEFAULT_ORGANISATION_ID
        )
        target = (AuditTarget.USER, user.id)
        self.trail.record(self.session, AuditAction.MEMBER_CREATED, target, name=user.name, role=role)
        return user

    def _apply(self, row: ProvisionedPerson, user: User, given: Any, role: Role | None) -> None:
        try:
            wanted = ChangePerson(name=_name(given), role=role, is_disabled=given.active is False)
        except ValidationError as error:
            raise InvalidValueException(detail="the name must have 1 to 200 characters") from error
        people.change(self.session, self.manager, self.trail, user, wanted)
        row.user_name, row.user_name_key = given.user_name, user_name_key(given.user_name)
        row.external_id = given.external_id
        attributes = given.model_dump()
        row.attributes = {name: value for name, value in attributes.items() if name not in _KEPT_ELSEWHERE}
        row.updated_at = now()

    def _resource(self, row: ProvisionedPerson, user: User, teams: Iterable[Team]) -> Any:
        person = PersonResource.model_validate(
            {
                **row.attributes,
                "schemas": [name for name in _SCHEMAS if name == _SCHEMAS[0] or name in row.attributes],
                "userName": row.user_name,
                "externalId": row.external_id,
            }
        )
        person.id = user.id.hex
        person.meta = Meta(
            resource_type="User",
            created=row.created_at,
            last_modified=row.updated_at,
            location=f"{self.base}/Users/{user.id.hex}",
        )
        # An administrator may have changed these here.
        if (person.active is not False) != (user.disabled_at is None):
            person.active = user.disabled_at is None
        if user.role is not Role.OWNER and (_role(person) or Role.MEMBER) is not user.role:
            person.roles = [GivenRole(value=RoleName(user.role))]
        person.groups = [
            TeamOfPerson(value=team.id.hex, ref=f"{self.base}/Groups/{team.id.hex}", display=team.name)
            for team in teams
        ] or None
        return person

    async def _teams(self, only: UUID | None) -> dict[UUID, list[Team]]:
        query = select(TeamMember.user_id, Team).join(Team, Team.id == TeamMember.team_id)
        if only is not None:
            query = query.where(TeamMember.user_id == only)
        found: dict[UUID, list[Team]] = {}
        for user_id, team in await self.session.execute(query.order_by(Team.name_key)):
            found.setdefault(user_id, []).append(team)
        return found


def _checked(given: Any) -> str:
    """Checks the user name and the external id of a SCIM person that the identity provider has sent. Returns
    the user name without spaces around it. Raises InvalidValueException if the user name is missing, or if
    the user name or the external id is too long.
    """
    user_name = str(given.user_name or "").strip()
    if not 0 < len(user_name) <= MAX_USER_NAME_CHARACTERS:
        raise InvalidValueException(detail=f"userName must have 1 to {MAX_USER_NAME_CHARACTERS} characters")
    given.user_name = user_name
    check_external_id(given)
    return user_name


def check_external_id(given: Any) -> None:
    """Checks that the external id of a SCIM resource is not too long to be stored. The external id is the id
    that the identity provider uses for the resource. Raises InvalidValueException if the id is too long.
    """
    if len(given.external_id or "") > MAX_EXTERNAL_ID_CHARACTERS:
        raise InvalidValueException(
            detail=f"externalId must have at most {MAX_EXTERNAL_ID_CHARACTERS} characters"
        )


def _taken(user_name: str) -> UniquenessException:
    return UniquenessException(detail=f"There is a person with the user name {user_name!r} already.")


def _name(given: Any) -> str:
    """Returns the display name of a SCIM person that the identity provider has sent. If the display name is
    missing, returns the full name or else the user name. The result has at most 200 characters.
    """
    parts = given.name
    full_name = parts and (parts.formatted or " ".join(filter(None, (parts.given_name, parts.family_name))))
    return str(given.display_name or full_name or given.user_name).strip()[:200] or str(given.user_name)


def _role(given: Any) -> Role | None:
    """Returns the role that the SCIM resource of a person contains. If it contains several roles, returns the
    one that is marked as primary, or else the first one. Returns None if there is no role.
    """
    roles = [role for role in given.roles or () if role.value]
    chosen = next((role for role in roles if role.primary), roles[0] if roles else None)
    return Role(str(chosen.value)) if chosen else None
