"""HTTP routes by which administrators manage the people of their organisation."""

from uuid import UUID

from fastapi import APIRouter

from app_server.access import people
from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.access.people_schemas import ChangePerson, Invitation, InvitePerson, Person, SignInLinkInfo
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import ReadSession, Session
from app_server.core.server_objects import ServerConfig
from app_server.sign_in.invitation_mail import service as invitation_mails
from app_server.sign_in.invitations import invite, new_link, send_again
from app_server.sign_in.passwords import totp
from app_server.users.models import User

router = APIRouter(prefix="/api/v1/people", tags=["People"])


@router.get("")
async def list_people(manager: CurrentUser, session: ReadSession) -> list[Person]:
    with_totp = await totp.users_with_it(session)
    mails = await invitation_mails.by_person(session)
    return [
        Person.model_validate(one).model_copy(
            update={"has_totp": one.id in with_totp, "invitation_mail": mails.get(one.id)}
        )
        for one in await people.list_people(session, manager.organisation_id)
    ]


@router.post("", status_code=201)
async def invite_person(
    manager: CurrentUser, trail: CurrentTrail, session: Session, body: InvitePerson, config: ServerConfig
) -> Invitation:
    """Creates an account, and the link by which its person signs in.

    If `email` is given, the server sends the link to that address, and the reply has no link. The list of
    people then shows whether the e-mail was sent.

    Errors: 403 `role_not_manageable` if the administrator may not manage people with this role; 409
    `no_mail_server` if `email` is given and the server has no mail server.
    """
    people.require_can_manage(manager, body.role)
    person, link = await invite(
        session,
        config,
        trail,
        name=body.name,
        role=body.role,
        organisation_id=manager.organisation_id,
        email=body.email,
    )
    return Invitation(person=Person.model_validate(person), sign_in_link=link)


@router.patch("/{person_id}", response_model=Person)
async def change_person(
    manager: CurrentUser, trail: CurrentTrail, session: Session, person_id: UUID, body: ChangePerson
) -> User:
    """Changes a person's account. The change takes effect at once. If the account is disabled, the person's
    open connections are closed within two seconds, but the person's conversations stay. Errors: 403
    `role_not_manageable` if the administrator may not manage people with the present or the new role; 404
    `person_not_found` if there is no such person; 409 `person_being_deleted` if the person is being deleted.
    """
    person = await people.find(session, person_id, manager.organisation_id)
    people.change(session, manager, trail, person, body)
    await session.flush()
    return person


@router.delete("/{person_id}/totp", status_code=204)
async def reset_totp(manager: CurrentUser, trail: CurrentTrail, session: Session, person_id: UUID) -> None:
    """Removes the authenticator app of a person who has lost it. Then the password alone is enough to sign
    in.

    Errors: 403 `role_not_manageable` if the administrator may not manage people with this role; 404
    `person_not_found` if there is no such person.
    """
    person = await people.find(session, person_id, manager.organisation_id)
    people.require_can_manage(manager, person.role)
    if await totp.remove(session, person.id):
        target = (AuditTarget.USER, person.id)
        trail.record(session, AuditAction.TWO_FACTOR_DISABLED, target, name=person.name)


@router.post("/{person_id}/sign-in-link", status_code=201)
async def create_sign_in_link(
    manager: CurrentUser, trail: CurrentTrail, session: Session, person_id: UUID, config: ServerConfig
) -> SignInLinkInfo:
    """Creates another one-time link by which the person signs in, for example in another browser. Returns the
    link. Errors: 403 `role_not_manageable` if the administrator may not manage people with this role; 404
    `person_not_found` if there is no such person; 409 `service_account_cannot_sign_in` if the account is for
    a program.
    """
    person = await people.find(session, person_id, manager.organisation_id)
    people.require_can_manage(manager, person.role)
    return await new_link(session, config, person, trail)


@router.post("/{person_id}/invitation-mail", status_code=202)
async def send_invitation_again(
    manager: CurrentUser, trail: CurrentTrail, session: Session, person_id: UUID, config: ServerConfig
) -> Person:
    """Sends the invitation of a person by e-mail once more, to the same address, with a new link. The earlier
    links of the person become invalid at once. The list of people shows whether the e-mail is sent. Errors:
    403 `role_not_manageable` if the administrator may not manage people with this role; 404
    `person_not_found` if there is no such person; 409 `no_mail_server` if the server has no mail server; 409
    `already_signed_in` if the person has signed in before; 409 `not_invited_by_mail` if the person was not
    invited by e-mail.
    """
    person = await people.find(session, person_id, manager.organisation_id)
    people.require_can_manage(manager, person.role)
    await send_again(session, config, trail, person)
    mails = await invitation_mails.by_person(session)
    return Person.model_validate(person).model_copy(update={"invitation_mail": mails[person.id]})
