"""Lists the people of an organisation and changes their accounts."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.access.people_schemas import ChangePerson
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import now
from app_server.core.errors import Conflict, Forbidden, NotFound
from app_server.users.models import Role, User

_MANAGED_BY: dict[Role, frozenset[Role]] = {
    Role.OWNER: frozenset((Role.ADMIN, Role.MEMBER, Role.VIEWER)),
    Role.ADMIN: frozenset((Role.MEMBER, Role.VIEWER)),
}


async def list_people(session: AsyncSession, organisation_id: UUID | None) -> Sequence[User]:
    """Returns the people of an organisation, or of all organisations if `organisation_id` is None."""
    query = select(User).order_by(User.created_at, User.id)
    if organisation_id is not None:
        query = query.where(User.organisation_id == organisation_id)
    return (await session.scalars(query)).all()


async def find(session: AsyncSession, person_id: UUID, organisation_id: UUID) -> User:
    """Returns the user with this id. Raises NotFound `person_not_found` if there is no such user, or if the
    user is in another organisation.
    """
    person = await session.get(User, person_id)
    if person is None or person.organisation_id != organisation_id:
        raise NotFound("There is no such person.", code="person_not_found")
    return person


def require_can_manage(manager: User, role: Role) -> None:
    """Checks that a user may manage the accounts that have the role `role`. To manage an account is to create
    and change it, and to create sign-in links for it. `manager`: the user who sends the request.

    Raises Forbidden `role_not_manageable` if the manager may not do this.
    """
    if role not in _MANAGED_BY.get(manager.role, frozenset()):
        raise Forbidden(
            f"A person with the role {manager.role} may not manage people with the role {role}.",
            code="role_not_manageable",
            fix="Ask the owner.",
        )


def change(
    session: AsyncSession, manager: User, trail: AuditTrail, person: User, wanted: ChangePerson
) -> None:
    """Changes a person's name or role, or disables or enables the account. Changes only the fields that are
    set in `wanted`.

    Raises Forbidden `role_not_manageable` if the manager may not manage people with the present or the new
    role. Raises Conflict `person_being_deleted` if the account is being deleted.
    """
    require_can_manage(manager, person.role)
    if person.deleting_at is not None:
        raise Conflict("This person is being deleted.", code="person_being_deleted")
    target, of = (AuditTarget.USER, person.id), person.organisation_id
    if wanted.role is not None and wanted.role != person.role:
        require_can_manage(manager, wanted.role)
        before, person.role = person.role, wanted.role
        trail.record(
            session,
            AuditAction.MEMBER_ROLE_CHANGED,
            target,
            of_organisation=of,
            name=person.name,
            role=wanted.role,
            before=before,
        )
    if wanted.name is not None and wanted.name != person.name:
        before_name, person.name = person.name, wanted.name
        trail.record(
            session,
            AuditAction.MEMBER_RENAMED,
            target,
            of_organisation=of,
            name=wanted.name,
            before=before_name,
        )
    if wanted.is_disabled is not None and wanted.is_disabled is (person.disabled_at is None):
        person.disabled_at = now() if wanted.is_disabled else None
        action = AuditAction.MEMBER_DISABLED if wanted.is_disabled else AuditAction.MEMBER_ENABLED
        trail.record(session, action, target, of_organisation=of, name=person.name)
