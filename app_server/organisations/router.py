"""HTTP routes of organisations. All administrators of the default organisation, who run the installation, can
see all organisations. Only the owner of the default organisation can create, change and delete organisations.
"""

from uuid import UUID

from fastapi import APIRouter

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.access.people_schemas import Invitation, Person
from app_server.core.database import ReadSession, Session
from app_server.core.pubsub import LOOK, ServerPubSub, publish_after_commit
from app_server.core.server_objects import ServerConfig
from app_server.organisations import service
from app_server.organisations.moving import move_person
from app_server.organisations.schemas import (
    InviteIntoOrganisation,
    MovePerson,
    OrganisationInfo,
    SaveOrganisation,
)
from app_server.users.models import User
from app_server.users.organisations import Organisation, find_organisation, organisation_not_found

router = APIRouter(prefix="/api/v1/organisations", tags=["Organisations"])


@router.get("")
async def list_organisations(session: ReadSession) -> list[OrganisationInfo]:
    """Returns all organisations: first the default one (whose administrators run the installation), then the
    others sorted by name.
    """
    return await service.list_organisations(session)


@router.post("", status_code=201)
async def create_organisation(
    user: CurrentUser, trail: CurrentTrail, session: Session, body: SaveOrganisation
) -> OrganisationInfo:
    """Creates an organisation without people. Two names that differ only in upper and lower case count as the
    same name.

    403 `owner_of_installation_only` if the user does not own the installation. 409 `organisation_name_taken`
    if another organisation has this name. 409 `too_many_organisations` if there are 200 organisations
    already.
    """
    service.require_installation_owner(user)
    organisation = await service.create_organisation(session, trail, body.name)
    return await service.show_organisation(session, organisation)


@router.patch("/{organisation_id}")
async def rename_organisation(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    organisation_id: UUID,
    body: SaveOrganisation,
) -> OrganisationInfo:
    """Changes the name of an organisation. 404 `organisation_not_found` if there is no organisation with this
    id. 409 `organisation_name_taken` if another organisation has this name.
    """
    service.require_installation_owner(user)
    organisation = await find_organisation(session, organisation_id, to_change=True)
    await service.rename_organisation(session, trail, organisation, body.name)
    return await service.show_organisation(session, organisation)


@router.delete("/{organisation_id}", status_code=204)
async def delete_organisation(
    user: CurrentUser, trail: CurrentTrail, session: Session, organisation_id: UUID
) -> None:
    """Deletes an organisation that has no people, together with its teams and settings.

    404 `organisation_not_found` if there is no organisation with this id. 409 `organisation_has_people` if a
    person is in the organisation. 409 `organisation_is_default` if it is the default organisation, whose
    administrators run the installation.
    """
    service.require_installation_owner(user)
    organisation = await find_organisation(session, organisation_id, to_change=True)
    await service.delete_organisation(session, trail, organisation)


@router.get("/{organisation_id}/people", response_model=list[Person])
async def list_people_of_organisation(session: ReadSession, organisation_id: UUID) -> list[User]:
    """Returns the people of an organisation, sorted by name. 404 `organisation_not_found` if there is no
    organisation with this id.
    """
    organisation = await session.get(Organisation, organisation_id)
    if organisation is None:
        raise organisation_not_found()
    return list(await service.people_of(session, organisation))


@router.post("/{organisation_id}/people", status_code=201)
async def invite_into_organisation(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    organisation_id: UUID,
    body: InviteIntoOrganisation,
    config: ServerConfig,
) -> Invitation:
    """Creates an account in an organisation, and a one-time link with which the invited person signs in. The
    first owner of a new organisation is invited in this way.

    404 `organisation_not_found` if there is no organisation with this id. 409 `organisation_has_owner` if the
    account would be a second owner. 409 `no_mail_server` if an e-mail address is given but the server cannot
    send mail.
    """
    service.require_installation_owner(user)
    organisation = await find_organisation(session, organisation_id)
    person, link = await service.invite_into(session, config, trail, organisation, body)
    return Invitation(person=Person.model_validate(person), sign_in_link=link)


@router.put("/{organisation_id}/people/{person_id}", response_model=Person)
async def move_person_to_organisation(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    organisation_id: UUID,
    person_id: UUID,
    body: MovePerson,
    pubsub: ServerPubSub,
) -> User:
    """Moves a person to an organisation. The person keeps everything that the person owns, such as
    conversations. The person's memberships of teams end, and so does all sharing by and with the person. If a
    browser thereby loses access to a conversation, its connection that receives the conversation's events is
    closed within two seconds.

    403 `role_not_manageable` if the person is the owner of the default organisation. 404
    `organisation_not_found` if there is no organisation with the given id. 404 `person_not_found` if there is
    no person with the given id. 409 `person_being_deleted` if the person is being deleted. 409
    `already_in_organisation` if the person is in this organisation already.
    """
    service.require_installation_owner(user)
    organisation = await find_organisation(session, organisation_id)
    person, channels = await move_person(session, trail, person_id, organisation, body.role)
    for channel in channels:
        publish_after_commit(session, pubsub, channel, [LOOK])
    return person
