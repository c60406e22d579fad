"""Creates accounts, and the one-time links by which people sign in to them."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail, trail_of_command_line
from app_server.access.people_schemas import SignInLinkInfo
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.config import Config
from app_server.core.database import now
from app_server.core.errors import Conflict
from app_server.core.mail.server import require_mail_server
from app_server.settings.sharing import add_first_profiles
from app_server.sign_in.invitation_mail.service import store, take_out
from app_server.sign_in.service import LINK_LIFETIME, create_link, end_links
from app_server.users.models import Role, User
from app_server.users.service import create_user, find_owner


async def create_account(session: AsyncSession, *, name: str, role: Role, organisation_id: UUID) -> User:
    """Creates an account in an organisation, with the model profiles that every new account gets. Returns the
    account.
    """
    person = await create_user(session, name=name, role=role, organisation_id=organisation_id)
    await add_first_profiles(session, person.id)
    return person


def require_can_sign_in(person: User) -> None:
    """Checks that the user of this account is a person, because only people sign in. Raises Conflict
    `service_account_cannot_sign_in` if it is a service account, which is an account for a program.
    """
    if person.is_service:
        raise Conflict(
            "A service account cannot sign in.",
            code="service_account_cannot_sign_in",
            fix="Make an API key for it.",
        )


async def new_link(session: AsyncSession, config: Config, person: User, trail: AuditTrail) -> SignInLinkInfo:
    """Creates a one-time sign-in link for this person and records this in the audit log. The secret token is
    in the fragment of the URL, which browsers never send to servers.

    Raises Conflict `service_account_cannot_sign_in` if the account is for a program.
    """
    require_can_sign_in(person)
    token = await create_link(session, person.id)
    target = (AuditTarget.USER, person.id)
    trail.record(
        session,
        AuditAction.SIGN_IN_LINK_CREATED,
        target,
        of_organisation=person.organisation_id,
        name=person.name,
    )
    return SignInLinkInfo(url=f"{config.base_url}/sign-in#token={token}", expires_at=now() + LINK_LIFETIME)


async def invite(
    session: AsyncSession,
    config: Config,
    trail: AuditTrail,
    *,
    name: str,
    role: Role,
    organisation_id: UUID,
    email: str | None = None,
) -> tuple[User, SignInLinkInfo | None]:
    """Creates an account for a new person, and a one-time link with which the person signs in for the first
    time. Returns the account and the link.

    `email`: if given, a background job sends the link to this e-mail address, and None is returned in place
    of the link. `trail`: the audit log; its actor is the user who invites. Raises Conflict `no_mail_server`
    if `email` is given and the server has no mail server.
    """
    if email is not None:
        require_mail_server(config.mail)
    person = await create_account(session, name=name, role=role, organisation_id=organisation_id)
    target = (AuditTarget.USER, person.id)
    trail.record(
        session,
        AuditAction.MEMBER_CREATED,
        target,
        of_organisation=organisation_id,
        name=person.name,
        role=role,
        email=email,
    )
    if email is not None:
        await store(session, person, inviter_id=trail.actor.user_id, address=email)
        return person, None
    return person, await new_link(session, config, person, trail)


async def send_again(session: AsyncSession, config: Config, trail: AuditTrail, person: User) -> str:
    """Sends the invitation of a person by e-mail once more, to the same address, and returns the address. All
    earlier links of the person become invalid at once. The actor of `trail` (the user who sends this request)
    becomes the inviter.

    Raises Conflict `no_mail_server` if this server has no mail server. Raises Conflict `already_signed_in` if
    the person has signed in before. Raises Conflict `not_invited_by_mail` if the person was not invited by
    e-mail.
    """
    require_mail_server(config.mail)
    # Two requests at once come one after the other, and the second one ends the link of the first.
    await session.refresh(person, with_for_update=True)
    if person.signed_in_at is not None:
        raise Conflict(
            "This person has signed in already.",
            code="already_signed_in",
            fix="Create a sign-in link for another browser.",
        )
    address = await take_out(session, person)
    if address is None:
        raise Conflict(
            "This person was not invited by e-mail.",
            code="not_invited_by_mail",
            fix="Create a sign-in link and send it yourself.",
        )
    await end_links(session, person.id)
    await store(session, person, inviter_id=trail.actor.user_id, address=address)
    target = (AuditTarget.USER, person.id)
    trail.record(session, AuditAction.INVITATION_SENT_AGAIN, target, name=person.name, email=address)
    return address


async def new_owner_link(session: AsyncSession, config: Config) -> str:
    owner = await find_owner(session)
    assert owner is not None, "the first start makes the owner"
    return (await new_link(session, config, owner, trail_of_command_line(owner))).url
