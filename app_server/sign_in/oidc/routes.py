"""HTTP routes of the sign-in by a provider: the browser goes to the provider, comes back, and gets a one-time
link.
"""

import logging
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail, address_of
from app_server.access.authentication import account_disabled
from app_server.audit.actions import ActorMeans, AuditAction, AuditTarget
from app_server.audit.chain import Actor
from app_server.core.database import Session
from app_server.core.encryption import ServerCipher
from app_server.core.errors import AppError, BadGateway, BadRequest
from app_server.core.identity_providers import IdentityProvider
from app_server.core.pubsub import LOOK, publish_after_commit
from app_server.core.server_objects import ServerConfig
from app_server.sign_in.oidc import accounts, attempts, exchange, refusals
from app_server.sign_in.oidc.discovery import Providers, ServerProviders
from app_server.sign_in.oidc.identity import ProviderIdentity, identity_of
from app_server.sign_in.oidc.tokens import read_logout_token
from app_server.sign_in.refused import RefusedSignIns, ServerRefusedSignIns
from app_server.sign_in.service import LinkOrigin, create_link
from app_server.users.models import User

logger = logging.getLogger(__name__)

router = APIRouter(prefix="/api/v1/sign-in", tags=["Sign-in"])

CONNECTIONS_PAGE = "settings/browsers"
"""The page where a person connects an account with a provider, below the base URL."""

_Text = Annotated[str, Query(max_length=4096)]


class ProviderInfo(BaseModel):
    """A provider. `url`: where the browser goes to sign in by this provider, relative to this server."""

    name: str
    title: str
    url: str


@router.get("/providers")
async def list_providers(identity_providers: ServerProviders) -> list[ProviderInfo]:
    """Lists the providers by which people can sign in, in addition to one-time links."""
    providers: Providers = identity_providers
    return [
        ProviderInfo(name=one.name, title=one.title, url=f"{router.prefix}/oidc/{one.name}")
        for one in providers.all()
    ]


@router.get("/oidc/{name}", status_code=303, response_class=RedirectResponse)
async def begin_sign_in(
    name: str, config: ServerConfig, identity_providers: ServerProviders, cipher: ServerCipher
) -> Response:
    """Redirects the browser to the provider, or to our sign-in page if the provider does not answer.

    404 `oidc_provider_not_found`.
    """
    providers: Providers = identity_providers
    provider = providers.find(name)
    attempt = attempts.Attempt.begin(name)
    try:
        url = await exchange.authorization_url(config, providers, provider, attempt)
    except BadGateway as refusal:
        return RedirectResponse(f"{config.base_url}/sign-in#refused={refusal.code}", status_code=303)
    reply = RedirectResponse(url, status_code=303)
    attempts.COOKIE.keep(attempts.seal(attempt, cipher), reply, config)
    return reply


@router.get("/oidc/{name}/callback", status_code=303, response_class=RedirectResponse)
async def complete_sign_in(
    name: str,
    config: ServerConfig,
    identity_providers: ServerProviders,
    cipher: ServerCipher,
    refused_sign_ins: ServerRefusedSignIns,
    request: Request,
    session: Session,
    state: _Text = "",
    code: _Text = "",
    error: _Text = "",
) -> Response:
    """Receives the browser when the provider sends it back, and redirects it to our sign-in page. The
    fragment of that address contains a one-time token (`#token=…`), or says why the sign-in is refused
    (`#refused=CODE`). After connecting an account the browser goes to the settings, with `#connected=NAME`.

    404 `oidc_provider_not_found`.
    """
    providers: Providers = identity_providers
    provider = providers.find(name)
    cookie = attempts.COOKIE.read(request, config)
    page = "sign-in"
    try:
        attempt = attempts.open_sealed(cookie, cipher, provider=name, state=state)
        page = CONNECTIONS_PAGE if attempt.connects else page
        if error or not code:
            logger.info("%s refuses a sign-in: %r", name, error[:200])
            raise refusals.refused_by_provider(provider.title)
        claims = await exchange.claims_for_code(config, providers, provider, attempt, code)
        identity = identity_of(provider, claims)
        if attempt.connects:
            await accounts.connect(session, identity, attempt.connects)
            await _record_connection(session, request, name, attempt.connects)
            outcome = f"connected={name}"
        else:
            outcome = f"token={await _link_for(session, request, provider, identity)}"
    except AppError as refusal:
        refused: RefusedSignIns = refused_sign_ins
        refused.tell(request, ActorMeans.PROVIDER, refusal.code, provider=name)
        outcome = f"refused={refusal.code}"
    reply = RedirectResponse(f"{config.base_url}/{page}#{outcome}", status_code=303)
    attempts.COOKIE.forget(reply, config)
    return reply


@router.post("/oidc/{name}/logout")
async def log_out_by_provider(
    name: str,
    identity_providers: ServerProviders,
    request: Request,
    session: Session,
    logout_token: Annotated[str, Form(max_length=16_384)],
) -> Response:
    """Signs out the browsers of a person who has signed out at the provider. The provider itself calls this
    route (OpenID Connect Back-Channel Logout 1.0).

    400 `oidc_logout_token_invalid`, 404 `oidc_provider_not_found`.
    """
    providers: Providers = identity_providers
    provider = providers.find(name)
    try:
        claims = await read_logout_token(providers, provider, logout_token)
    except BadGateway:
        raise BadRequest("This logout token is not valid.", code="oidc_logout_token_invalid") from None
    ended = await accounts.end_sessions(
        session, provider.issuer, subject=claims.get("sub"), provider_session=claims.get("sid")
    )
    for session_id, user_id in ended:
        trail = AuditTrail(Actor(ActorMeans.PROVIDER, user_id=user_id, address=address_of(request)))
        target = (AuditTarget.SESSION, session_id)
        trail.record(session, AuditAction.SESSION_REVOKED, target, provider=name)
    logger.info("%s has ended %d browser sessions", name, len(ended))
    return Response(headers={"Cache-Control": "no-store"})


async def _record_connection(session: AsyncSession, request: Request, name: str, user_id: UUID) -> None:
    user = await session.get_one(User, user_id)
    actor = Actor(ActorMeans.PROVIDER, user_id=user_id, name=user.name, address=address_of(request))
    target = (AuditTarget.IDENTITY, name)
    AuditTrail(actor).record(session, AuditAction.IDENTITY_CONNECTED, target)


async def _link_for(
    session: AsyncSession, request: Request, provider: IdentityProvider, identity: ProviderIdentity
) -> str:
    user, known = await accounts.account_of(session, provider, identity, address_of(request))
    if user.disabled_at is not None:
        raise account_disabled()
    await session.flush()
    if provider.teams:
        # The teams may have changed, and with them what other open pages of this person show.
        publish_after_commit(session, request.state.pubsub, user.id, [LOOK])
    return await create_link(
        session, user.id, origin=LinkOrigin(identity_id=known.id, provider_session=identity.session)
    )
