"""Creates, renames and deletes organisations, and invites people into them."""

from collections.abc import Sequence

from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.access.people_schemas import SignInLinkInfo
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.config import Config
from app_server.core.errors import Conflict, Forbidden
from app_server.levels.models import LevelSetting
from app_server.organisations.schemas import InviteIntoOrganisation, OrganisationInfo
from app_server.sign_in.invitations import invite
from app_server.teams.models import Team
from app_server.users.models import Role, User
from app_server.users.organisations import Organisation, find_organisation, organisation_not_found

MAX_ORGANISATIONS = 200


def require_installation_owner(user: User) -> None:
    """Checks that the user owns the installation. Raises Forbidden `owner_of_installation_only` if the user
    does not.

    The role of administrator is not enough, because administrators can create sign-in links for people of
    their organisation. An administrator who could also move people into this organisation could take over
    their accounts.
    """
    if user.role is not Role.OWNER or not user.is_of_default_organisation:
        raise Forbidden(
            "Only the owner of the default organisation may do this.",
            code="owner_of_installation_only",
            fix="Ask the owner of the installation.",
        )


async def list_organisations(session: AsyncSession) -> list[OrganisationInfo]:
    """Returns all organisations: first the default one (whose administrators run the installation), then the
    others sorted by name.
    """
    rows = (await session.scalars(select(Organisation).order_by(Organisation.name_key))).all()
    counts = select(User.organisation_id, func.count().label("people")).group_by(User.organisation_id)
    people = {row.organisation_id: row.people for row in await session.execute(counts)}
    shown = [_info(row, people.get(row.id, 0)) for row in rows]
    return sorted(shown, key=lambda one: not one.is_default)


async def show_organisation(session: AsyncSession, organisation: Organisation) -> OrganisationInfo:
    return _info(organisation, await _person_count(session, organisation))


async def create_organisation(session: AsyncSession, trail: AuditTrail, name: str) -> Organisation:
    """Creates an organisation without people. Raises Conflict `organisation_name_taken` if another
    organisation has this name. Raises Conflict `too_many_organisations` if there are MAX_ORGANISATIONS
    already.
    """
    if (await session.scalar(select(func.count()).select_from(Organisation)) or 0) >= MAX_ORGANISATIONS:
        raise Conflict(
            f"There are {MAX_ORGANISATIONS} organisations, which is as many as there can be.",
            code="too_many_organisations",
            fix="Delete an organisation that is no longer used.",
        )
    organisation = Organisation(name=name, name_key=name.casefold())
    session.add(organisation)
    await _flush(session)
    target = (AuditTarget.ORGANISATION, organisation.id)
    trail.record(session, AuditAction.ORGANISATION_CREATED, target, name=name)
    return organisation


async def rename_organisation(
    session: AsyncSession, trail: AuditTrail, organisation: Organisation, name: str
) -> None:
    """Renames an organisation. Raises Conflict `organisation_name_taken` if another organisation has this
    name.
    """
    if organisation.name == name:
        return
    before, organisation.name, organisation.name_key = organisation.name, name, name.casefold()
    await _flush(session)
    target = (AuditTarget.ORGANISATION, organisation.id)
    trail.record(session, AuditAction.ORGANISATION_RENAMED, target, name=name, before=before)


async def delete_organisation(session: AsyncSession, trail: AuditTrail, organisation: Organisation) -> None:
    """Deletes an organisation that has no people, together with its teams and settings.

    organisation: must come from a call of `find_organisation` with `to_change=True` in this transaction. This
    call locks the database row, so that no person can join the organisation before the transaction ends.

    Raises Conflict `organisation_is_default` if it is the default organisation, whose administrators run the
    installation. Raises Conflict `organisation_has_people` if a person is in the organisation.
    """
    if organisation.is_default:
        raise Conflict(
            "The default organisation runs the installation and stays.", code="organisation_is_default"
        )
    if count := await _person_count(session, organisation):
        raise Conflict(
            f"The organisation has {count} people.",
            code="organisation_has_people",
            fix="Move or delete its people first.",
        )
    await session.execute(delete(Team).where(Team.organisation_id == organisation.id))
    await session.execute(delete(LevelSetting).where(LevelSetting.owner_id == organisation.id))
    await session.delete(organisation)
    target = (AuditTarget.ORGANISATION, organisation.id)
    trail.record(session, AuditAction.ORGANISATION_DELETED, target, name=organisation.name)


async def invite_into(
    session: AsyncSession,
    config: Config,
    trail: AuditTrail,
    organisation: Organisation,
    wanted: InviteIntoOrganisation,
) -> tuple[User, SignInLinkInfo | None]:
    """Creates an account in the organisation. Returns the new user, and the one-time link with which this
    person signs in. Returns None in place of the link if the link was sent by mail.

    Raises Conflict `organisation_has_owner` if the account would be a second owner. Raises Conflict
    `no_mail_server` if an e-mail address is given but the server cannot send mail.
    """
    if wanted.role is Role.OWNER:
        owners = select(User.id).where(User.organisation_id == organisation.id, User.role == Role.OWNER)
        if (await session.scalars(owners.limit(1))).one_or_none() is not None:
            raise Conflict(
                "The organisation has an owner, and there is one only.",
                code="organisation_has_owner",
                fix="Choose another role, or move the owner to another organisation first.",
            )
    return await invite(
        session,
        config,
        trail,
        name=wanted.name,
        role=wanted.role,
        organisation_id=organisation.id,
        email=wanted.email,
    )


async def find_by_name(session: AsyncSession, name: str, *, to_change: bool = False) -> Organisation:
    """Returns the organisation with this name and locks its database row. So no other transaction can delete
    the organisation before this transaction ends. Upper and lower case in the name do not matter.

    to_change: True if this transaction renames or deletes the organisation. Then all other transactions that
    call this function or `find_organisation` for the organisation wait until this transaction ends.

    Raises NotFound `organisation_not_found` if no organisation has this name.
    """
    found = await session.scalar(select(Organisation.id).where(Organisation.name_key == name.casefold()))
    if found is None:
        raise organisation_not_found()
    return await find_organisation(session, found, to_change=to_change)


async def people_of(session: AsyncSession, organisation: Organisation) -> Sequence[User]:
    """Returns the people of an organisation, sorted by name."""
    query = select(User).where(User.organisation_id == organisation.id).order_by(User.name, User.id)
    return (await session.scalars(query)).all()


def _info(organisation: Organisation, person_count: int) -> OrganisationInfo:
    return OrganisationInfo(
        id=organisation.id,
        name=organisation.name,
        is_default=organisation.is_default,
        created_at=organisation.created_at,
        person_count=person_count,
    )


async def _person_count(session: AsyncSession, organisation: Organisation) -> int:
    query = select(func.count()).where(User.organisation_id == organisation.id)
    return await session.scalar(query) or 0


async def _flush(session: AsyncSession) -> None:
    try:
        await session.flush()
    except IntegrityError as error:
        raise Conflict(
            "There is an organisation of this name already.", code="organisation_name_taken"
        ) from error
