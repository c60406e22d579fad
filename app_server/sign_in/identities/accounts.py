"""Finds, creates and updates the accounts of people who sign in by an identity provider. The first sign-in of
a person creates the account, and each later sign-in updates it.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import Select, delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import ActorMeans, AuditAction, AuditTarget
from app_server.audit.chain import Actor
from app_server.core.identity_providers import SignInProvider
from app_server.sign_in.identities.identity import ProviderIdentity
from app_server.sign_in.identities.models import ExternalIdentity
from app_server.sign_in.identities.refusals import (
    already_connected,
    identity_not_found,
    identity_taken,
    no_organisation,
    no_role,
)
from app_server.sign_in.invitations import create_account
from app_server.teams.from_provider import set_teams
from app_server.users.models import Role, User, WebSession
from app_server.users.organisations import DEFAULT_ORGANISATION_ID, Organisation
from app_server.users.provisioning import person_of_user_name


async def account_of(
    session: AsyncSession, provider: SignInProvider, identity: ProviderIdentity, address: str | None
) -> tuple[User, ExternalIdentity]:
    """Returns the Slipway account of a person who signs in by a provider, with the stored identity of the
    person at the provider. Creates the account at the first sign-in. `address`: the browser's IP address, for
    the audit log; None if unknown.

    The configuration can map the person's groups at the provider to roles and teams in Slipway. If it maps
    them to roles, each sign-in sets the user's role, except the role of the owner. If it maps them to teams,
    each sign-in updates the teams to which the provider has added the user. People of a provider join the
    organisation that the configuration names. If an administrator has moved the user to another organisation,
    sign-ins no longer change the user's role and teams.

    Raises Forbidden `oidc_no_role` or `saml_no_role` if the groups give no role. Raises Forbidden
    `oidc_no_organisation` or `saml_no_organisation` if the configured organisation does not exist. Raises
    Conflict `too_many_teams` if the organisation gets too many teams. Raises Conflict `too_many_members` if a
    team gets too many members.
    """
    known = await _find(session, identity)
    of_scim = await _account_of_scim(session, provider, identity) if known is None else None
    is_new = known is None and of_scim is None
    known = known or await _create(session, provider, identity, of_scim)
    known.email = identity.email
    user = await session.get_one(User, known.user_id)
    trail = AuditTrail(Actor(ActorMeans.PROVIDER, user_id=user.id, name=user.name, address=address))
    target = (AuditTarget.USER, user.id)
    if is_new:
        trail.record(
            session,
            AuditAction.MEMBER_CREATED,
            target,
            name=user.name,
            role=user.role,
            provider=provider.name,
        )
    if user.organisation_id != await organisation_id_of(session, provider):
        # A person who was moved away. The groups of this provider say nothing about the other organisation.
        return user, known
    if provider.roles and user.role != Role.OWNER and user.role != (role := _required(provider, identity)):
        before, user.role = user.role, role
        trail.record(
            session,
            AuditAction.MEMBER_ROLE_CHANGED,
            target,
            name=user.name,
            role=user.role,
            before=before,
            provider=provider.name,
        )
    if provider.teams:
        await set_teams(session, trail, user, provider.name, identity.teams)
    return user, known


async def connect(
    session: AsyncSession, provider: SignInProvider, identity: ProviderIdentity, user_id: UUID
) -> None:
    """Connects a provider's identity with an existing account, so that the person signs in to this account
    from now on.

    Raises Conflict `oidc_identity_taken` if the identity belongs to another account. Raises Conflict
    `oidc_already_connected` if the account is connected with another identity at this provider. For SAML, the
    codes begin with `saml_`.
    """
    known = await _find(session, identity)
    if known is not None and known.user_id != user_id:
        raise identity_taken(provider.protocol)
    of_user = await session.scalar(_of_user(user_id, identity.issuer))
    if of_user is not None and of_user.subject != identity.subject:
        raise already_connected(provider.protocol)
    if known is None:
        session.add(_row(identity, user_id))
        await session.flush()


async def connected(session: AsyncSession, user_id: UUID) -> Mapping[str, ExternalIdentity]:
    """Returns the identities at providers with which the user's account is connected. The key is the issuer,
    which identifies the provider.
    """
    rows = await session.scalars(select(ExternalIdentity).where(ExternalIdentity.user_id == user_id))
    return {row.issuer: row for row in rows}


async def disconnect(session: AsyncSession, user_id: UUID, issuer: str) -> None:
    """Removes the connection between the account and the person's identity at this provider. Browsers that
    are already signed in stay signed in. Raises NotFound `identity_not_found` if the account is not connected
    with this provider.
    """
    found = await session.scalar(_of_user(user_id, issuer))
    if found is None:
        raise identity_not_found()
    await session.delete(found)


async def end_sessions(
    session: AsyncSession, issuer: str, *, subject: str | None, provider_session: str | None
) -> Sequence[tuple[UUID, UUID]]:
    """Signs out browsers that signed in by the provider `issuer`.

    `subject`: the provider's id of a person; if given, only browsers of this person are signed out.
    `provider_session`: the id of a session at the provider; if given, only browsers that signed in with this
    session are signed out. If both are None, all browsers that signed in by the provider are signed out.

    Returns the ended sessions as pairs: the session's id and its user's id.
    """
    identities = select(ExternalIdentity.id).where(ExternalIdentity.issuer == issuer)
    if subject is not None:
        identities = identities.where(ExternalIdentity.subject == subject)
    ended = delete(WebSession).where(WebSession.identity_id.in_(identities))
    if provider_session is not None:
        ended = ended.where(WebSession.provider_session == provider_session)
    found = await session.execute(ended.returning(WebSession.id, WebSession.user_id))
    return [(row.id, row.user_id) for row in found]


async def _find(session: AsyncSession, identity: ProviderIdentity) -> ExternalIdentity | None:
    return (
        await session.scalars(
            select(ExternalIdentity).where(
                ExternalIdentity.issuer == identity.issuer, ExternalIdentity.subject == identity.subject
            )
        )
    ).one_or_none()


async def _account_of_scim(
    session: AsyncSession, provider: SignInProvider, identity: ProviderIdentity
) -> UUID | None:
    """Returns the id of the account of a person who signs in for the first time, if the account is or was
    managed through SCIM. SCIM is a protocol with which an identity provider manages the accounts of its
    people.

    The account is found by the person's e-mail address, which must be the user name in SCIM. Returns None if
    there is no such account, if the provider's option `knows_scim_people` is off, or if the provider reports
    no e-mail address. Also returns None if another person at the same provider already signs in to this
    account.
    """
    if not provider.knows_scim_people or not identity.email:
        return None
    person = await person_of_user_name(session, identity.email)
    if person is None or await session.scalar(_of_user(person.user_id, identity.issuer)) is not None:
        return None
    return person.user_id


async def _create(
    session: AsyncSession, provider: SignInProvider, identity: ProviderIdentity, account_id: UUID | None
) -> ExternalIdentity:
    """Stores that a person's identity at the provider belongs to an account, and returns the stored identity.
    `account_id`: the account; None means that a new account is created.

    If the person begins two first sign-ins at the same time, only one of them creates an account. The other
    one returns the identity that the first one has stored.
    """
    try:
        async with session.begin_nested():
            if account_id is None:
                role = _required(provider, identity)
                organisation_id = await organisation_id_of(session, provider)
                user = await create_account(
                    session, name=identity.name, role=role, organisation_id=organisation_id
                )
                account_id = user.id
            made = _row(identity, account_id)
            session.add(made)
            await session.flush()
    except IntegrityError:
        found = await _find(session, identity)
        assert found is not None, "the other one has made it"
        return found
    return made


async def organisation_id_of(session: AsyncSession, provider: SignInProvider) -> UUID:
    """Returns the id of the organisation that people of the provider join. Raises Forbidden
    `oidc_no_organisation` or `saml_no_organisation` if there is no organisation of the configured name.
    """
    if provider.organisation is None:
        return DEFAULT_ORGANISATION_ID
    wanted = Organisation.name_key == provider.organisation.casefold()
    found = await session.scalar(select(Organisation.id).where(wanted).with_for_update(read=True))
    if found is None:
        raise no_organisation(provider.protocol)
    return found


def _of_user(user_id: UUID, issuer: str) -> Select[ExternalIdentity]:
    return select(ExternalIdentity).where(
        ExternalIdentity.user_id == user_id, ExternalIdentity.issuer == issuer
    )


def _required(provider: SignInProvider, identity: ProviderIdentity) -> Role:
    if identity.role is None:
        raise no_role(provider.protocol)
    return identity.role


def _row(identity: ProviderIdentity, user_id: UUID) -> ExternalIdentity:
    return ExternalIdentity(
        issuer=identity.issuer, subject=identity.subject, user_id=user_id, email=identity.email
    )


async def users_with_address(session: AsyncSession, address: str) -> Sequence[UUID]:
    """Returns the ids of the users who have this e-mail address at an identity provider. Only addresses that
    the provider has verified count. Upper and lower case do not matter.
    """
    query = select(ExternalIdentity.user_id).where(func.lower(ExternalIdentity.email) == address.lower())
    return (await session.scalars(query)).all()
