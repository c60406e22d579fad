"""Creates one-time sign-in links, exchanges a link for a browser session, and opens and ends browser
sessions. Every successful sign-in, of any kind, calls `open_session`.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.authentication import account_disabled
from app_server.audit.actions import ActorMeans, AuditAction, AuditTarget
from app_server.audit.chain import Actor, NewEntry, record
from app_server.core.database import now
from app_server.core.errors import BadRequest, Gone
from app_server.users.models import SignInLink, User, WebSession
from app_server.users.tokens import new_token, token_hash

LINK_LIFETIME = timedelta(hours=24)

_PROVIDER_LINK_LIFETIME = timedelta(minutes=1)
_MAX_USER_AGENT = 300
_KEPT_FOR_EXPLANATION = timedelta(days=7)
_FIX = "Run `slipway sign-in-link` on the server and open the link it prints."


@dataclass(frozen=True)
class LinkOrigin:
    """The identity and the session at an identity provider by which a person has signed in. They are stored
    with the one-time link that completes this sign-in, and later with the browser session.

    `identity_id`: the id of the person's ExternalIdentity. `provider_session`: the text that identifies the
    session at the provider; None if the provider did not name a session. For OpenID Connect, it is the
    provider's `sid`. For SAML, it is made by `provider_sessions.key_of`.
    """

    identity_id: UUID
    provider_session: str | None


async def create_link(session: AsyncSession, user_id: UUID, *, origin: LinkOrigin | None = None) -> str:
    """Creates a one-time sign-in link and returns its token. Only the token's hash is stored. The link is
    valid for 24 hours.

    `origin`: the sign-in at an identity provider for which the link is created; None if there is none. With
    `origin` the link is valid for one minute only, because the browser uses it at once.
    """
    await session.execute(delete(SignInLink).where(SignInLink.expires_at < now() - _KEPT_FOR_EXPLANATION))
    token = new_token()
    session.add(
        SignInLink(
            token_hash=token_hash(token),
            user_id=user_id,
            expires_at=now() + (_PROVIDER_LINK_LIFETIME if origin else LINK_LIFETIME),
            identity_id=origin and origin.identity_id,
            provider_session=origin and origin.provider_session,
        )
    )
    await session.flush()
    return token


async def end_links(session: AsyncSession, user_id: UUID) -> None:
    """Makes all unused one-time links of a person invalid."""
    unused = update(SignInLink).where(SignInLink.user_id == user_id, SignInLink.used_at.is_(None))
    await session.execute(unused.where(SignInLink.expires_at > now()).values(expires_at=now()))


@dataclass(frozen=True)
class NewBrowserSession:
    """A new browser session, with the cookie for the browser and the page proof. The page proof is a secret
    that the server's pages send with their requests.

    `accepts_invitation`: whether an invited user has just signed in for the first time. True if the user
    signed in with a one-time link and had never signed in before. A sign-in by a provider or with a password
    does not count.
    """

    user: User
    cookie: str
    page_proof: str
    accepts_invitation: bool


@dataclass(frozen=True)
class Browser:
    """The details of a browser that are stored with its browser session, so that the user recognises the
    session in the list of sessions.
    """

    user_agent: str | None
    address: str | None


async def sign_in_with_link(
    session: AsyncSession, token: str, *, browser: Browser, expires_at: datetime
) -> NewBrowserSession:
    """Exchanges a one-time sign-in link for a new browser session and returns the session. If two browsers
    use the link at once, only the first gets a session.

    `token`: the secret in the link. `browser`: the data of the browser that are stored with the session.
    `expires_at`: when the session ends.

    Raises BadRequest `sign_in_link_invalid` if there is no link with this token. Raises Gone
    `sign_in_link_expired` if the link has expired. Raises Gone `sign_in_link_used` if the link was used
    before. Raises NotAuthenticated `account_disabled` if the account is disabled; then the link does not
    count as used.
    """
    unused = update(SignInLink).where(
        SignInLink.token_hash == token_hash(token),
        SignInLink.used_at.is_(None),
        SignInLink.expires_at > now(),
    )
    link = await session.scalar(unused.values(used_at=now()).returning(SignInLink))
    if link is None:
        raise await _why_not(session, token)
    user = await session.get_one(User, link.user_id)
    if user.disabled_at is not None:
        raise account_disabled()
    origin = LinkOrigin(link.identity_id, link.provider_session) if link.identity_id else None
    means = ActorMeans.PROVIDER if origin else ActorMeans.LINK
    return await open_session(
        session, user, means=means, browser=browser, expires_at=expires_at, origin=origin
    )


async def open_session(
    session: AsyncSession,
    user: User,
    *,
    means: ActorMeans,
    browser: Browser,
    expires_at: datetime,
    origin: LinkOrigin | None = None,
) -> NewBrowserSession:
    """Opens a browser session, records the sign-in in the audit log, and returns the session. Every
    successful sign-in calls this function. The user must not be disabled.

    `means`: how the user has signed in, such as by a link or a password. `browser`: the data of the browser
    that are stored with the session. `expires_at`: when the session ends. `origin`: the sign-in at an
    identity provider from which the session comes; None if there is none.
    """
    signed_in = NewBrowserSession(
        user,
        cookie=new_token(),
        page_proof=new_token(),
        accepts_invitation=means is ActorMeans.LINK and user.signed_in_at is None,
    )
    user.signed_in_at = now()
    await session.execute(delete(WebSession).where(WebSession.expires_at < now()))
    web_session = WebSession(
        token_hash=token_hash(signed_in.cookie),
        proof_hash=token_hash(signed_in.page_proof),
        user_id=user.id,
        identity_id=origin and origin.identity_id,
        provider_session=origin and origin.provider_session,
        user_agent=browser.user_agent and browser.user_agent[:_MAX_USER_AGENT],
        address=browser.address,
        last_used_at=now(),
        expires_at=expires_at,
    )
    session.add(web_session)
    await session.flush()
    actor = _actor(user, means, web_session.id, browser.address)
    record(session, _about_session(actor, AuditAction.SIGN_IN_SUCCEEDED, web_session.id))
    return signed_in


@dataclass(frozen=True)
class SignedOut:
    """A browser session that has just ended. `provider_session`: the id of the session at the identity
    provider by which the browser had signed in; None if there is none.
    """

    provider_session: str | None


async def sign_out(
    session: AsyncSession, cookie: str, page_proof: str, *, address: str | None
) -> SignedOut | None:
    """Ends the browser session to which the cookie belongs, and returns the ended session. `page_proof`: the
    secret that only the server's pages know. If the cookie or the page proof is wrong, does nothing and
    returns None. `address`: the browser's IP address, for the audit log.
    """
    ended = delete(WebSession).where(
        WebSession.token_hash == token_hash(cookie), WebSession.proof_hash == token_hash(page_proof)
    )
    found = (await session.execute(ended.returning(WebSession))).scalar_one_or_none()
    if found is None:
        return None
    user = await session.get_one(User, found.user_id)
    actor = _actor(user, ActorMeans.SESSION, found.id, address)
    record(session, _about_session(actor, AuditAction.SIGN_OUT, found.id))
    return SignedOut(found.provider_session)


def _actor(user: User, means: ActorMeans, session_id: UUID, address: str | None) -> Actor:
    return Actor(means, user_id=user.id, name=user.name, credential_id=session_id, address=address)


def _about_session(actor: Actor, action: AuditAction, session_id: UUID) -> NewEntry:
    return NewEntry(actor, action, AuditTarget.SESSION, session_id.hex)


async def _why_not(session: AsyncSession, token: str) -> BadRequest | Gone:
    link = await session.scalar(select(SignInLink).where(SignInLink.token_hash == token_hash(token)))
    if link is None:
        return BadRequest("This sign-in link is invalid.", code="sign_in_link_invalid", fix=_FIX)
    if link.used_at is not None:
        return Gone("This sign-in link has been used already.", code="sign_in_link_used", fix=_FIX)
    return Gone("This sign-in link has expired.", code="sign_in_link_expired", fix=_FIX)
