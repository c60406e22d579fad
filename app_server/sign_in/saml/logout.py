"""Single logout with a SAML provider (SAML 2.0 Profiles, section 4.4). A sign-out at Slipway also ends the
session at the provider. A sign-out at the provider also ends the session at Slipway.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import Request
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail, address_of
from app_server.audit.actions import ActorMeans, AuditAction, AuditTarget
from app_server.audit.chain import Actor
from app_server.core.encryption import Cipher
from app_server.core.errors import AppError, BadRequest, NotFound
from app_server.core.sign_in.saml_providers import SamlProvider
from app_server.sign_in.saml import logout_messages, provider_sessions, used_assertions
from app_server.sign_in.saml.document import Unacceptable
from app_server.sign_in.saml.logout_messages import Kind, LogoutMessage
from app_server.sign_in.saml.providers import SamlProviders
from app_server.sign_in.saml.statements import SubjectAtProvider
from app_server.sign_in.service import SignedOut

if TYPE_CHECKING:
    from saml2.config import SPConfig

logger = logging.getLogger(__name__)

Reader = Callable[..., LogoutMessage]
"""The type of the function that verifies a logout message: `logout_messages.from_address` or
`logout_messages.from_form`.
"""


@dataclass(frozen=True)
class WayOut:
    """The data for a request that asks a SAML provider to end a person's session. `subject`: the provider's
    identifiers of the person and of the session. `settings`: the configuration of pysaml2 for this provider.
    `destination`: the provider's URL for such requests.
    """

    subject: SubjectAtProvider
    settings: "SPConfig"
    destination: str


async def received(
    providers: SamlProviders, provider: SamlProvider, read: Reader, kind: Kind, text: str
) -> LogoutMessage:
    """Verifies a single logout message and returns it. `text`: the query of the URL, or the field of the
    form, that contains the message. `read`: the function that verifies `text` (`from_address` for a query,
    `from_form` for a field). `kind`: whether the message is a request or a response.

    Raises BadRequest `saml_logout_invalid` if Slipway refuses the message. Raises NotFound
    `saml_logout_not_configured` if Slipway has no signing key for this provider. Raises BadGateway
    `saml_provider_unreachable` if the provider's metadata cannot be read. Raises BadGateway
    `saml_xmlsec1_missing` if the program xmlsec1 is not installed.
    """
    if provider.signing_key_file is None:
        raise NotFound(
            f"Single logout with {provider.title} is not configured.",
            code="saml_logout_not_configured",
            fix="An administrator sets signing_key_file and signing_certificate_file of the provider.",
        )
    try:
        return await providers.verified_logout(provider, read, kind, text)
    except Unacceptable as reason:
        logger.warning("a %s of %s is refused: %s", kind, provider.name, reason)
        raise BadRequest(
            "This message of single logout is not valid.",
            code="saml_logout_invalid",
            fix="An administrator can see the reason in the server's log.",
        ) from None


async def sign_out(
    providers: SamlProviders,
    provider: SamlProvider,
    session: AsyncSession,
    request: Request,
    message: LogoutMessage,
    relay_state: str,
) -> str | None:
    """Ends the browser sessions that the provider's logout request names. Returns the URL at the provider to
    which the browser must be redirected: it contains Slipway's signed response. Returns None if the provider
    has no URL for responses.

    `message`: the provider's verified logout request. `relay_state`: the text `RelayState` that came with the
    request and is sent back. Raises Forbidden `saml_response_used` if the request was used before.
    """
    await used_assertions.use(session, provider, f"logout {message.id}", message.valid_until)
    ended = await provider_sessions.end_sessions(session, provider, message)
    for session_id, user_id in ended:
        trail = AuditTrail(Actor(ActorMeans.PROVIDER, user_id=user_id, address=address_of(request)))
        target = (AuditTarget.SESSION, session_id)
        trail.record(session, AuditAction.SESSION_REVOKED, target, provider=provider.name)
    logger.info("%s has ended %d browser sessions", provider.name, len(ended))
    settings = await providers.settings(provider)
    there = logout_messages.address_of_logout(settings, provider)
    if there is None:
        return None
    return await asyncio.to_thread(logout_messages.response_to, settings, there[1], message.id, relay_state)


async def find_way_out(providers: SamlProviders, cipher: Cipher, cookie: str | None) -> WayOut | None:
    """Returns the data with which Slipway asks the SAML provider to end the session by which this browser
    signed in. `cookie`: the encrypted cookie that names that session.

    Returns None if the browser did not sign in by SAML, or if the provider has no single logout or cannot be
    reached. May fetch the provider's metadata over the network. So call this function before you write to the
    database: a transaction with changes must not wait for the network.
    """
    there = provider_sessions.decrypt(cookie, cipher)
    if there is None:
        return None
    try:
        provider = providers.find(there.provider)
        settings = await providers.settings(provider)
    except AppError as error:
        logger.warning("the session at %s cannot be ended: %s", there.provider, error.detail)
        return None
    addresses = logout_messages.address_of_logout(settings, provider)
    return None if addresses is None else WayOut(there.subject, settings, addresses[0])


async def address_to_end_session(way: WayOut | None, signed_out: SignedOut | None) -> str | None:
    """Returns the URL that the browser opens to end the person's session at the SAML provider, after the
    sign-out at Slipway.

    `way`: the session at the provider that the browser's cookie names, and the provider's URL for logout
    requests; None if there is no such session. `signed_out`: the browser session that has just ended at
    Slipway; None if no browser session has ended.

    Returns None if `way` or `signed_out` is None. Also returns None if the browser session at Slipway was
    started by a sign-in from another session at the provider than the one in the cookie.
    """
    if way is None or signed_out is None:
        return None
    if provider_sessions.key_of(way.subject) != signed_out.provider_session:
        return None
    return await asyncio.to_thread(logout_messages.request_to, way.settings, way.destination, way.subject)
