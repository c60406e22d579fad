"""HTTP routes of the sign-in by an OpenID Connect provider: the browser goes to the provider, comes back, and
gets a one-time link.
"""

import logging
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from app_server.access.audit_trail import AuditTrail, address_of
from app_server.audit.actions import ActorMeans, AuditAction, AuditTarget
from app_server.audit.chain import Actor
from app_server.core.database import Session
from app_server.core.encryption import ServerCipher
from app_server.core.errors import AppError, BadGateway, BadRequest
from app_server.core.server_objects import ServerConfig
from app_server.sign_in.identities import accounts
from app_server.sign_in.identities.completion import back_to, complete, page_for
from app_server.sign_in.identities.refusals import refused_by_provider
from app_server.sign_in.oidc import attempts, exchange
from app_server.sign_in.oidc.discovery import Providers, ServerProviders
from app_server.sign_in.oidc.identity import identity_of
from app_server.sign_in.oidc.tokens import read_logout_token
from app_server.sign_in.refused_sign_ins import RefusedSignIns, ServerRefusedSignIns

logger = logging.getLogger(__name__)

router = APIRouter(prefix="/api/v1/sign-in", tags=["Sign-in"])

_Text = Annotated[str, Query(max_length=4096)]


@router.get("/oidc/{name}", status_code=303, response_class=RedirectResponse)
async def begin_sign_in(
    name: str, config: ServerConfig, identity_providers: ServerProviders, cipher: ServerCipher
) -> Response:
    """Redirects the browser to the provider's page, or to Slipway's sign-in page if the provider cannot be
    reached. Errors: 404 `oidc_provider_not_found` if there is no provider with this name.
    """
    providers: Providers = identity_providers
    provider = providers.find(name)
    attempt = attempts.Attempt.begin(name)
    try:
        url = await exchange.authorization_url(config, providers, provider, attempt)
    except BadGateway as refusal:
        return back_to(config, page_for(None), f"refused={refusal.code}")
    reply = RedirectResponse(url, status_code=303)
    attempts.COOKIE.keep(attempts.encrypt(attempt, cipher), reply, config)
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
    """Completes the sign-in after the provider has redirected the browser to this route. Redirects the
    browser to Slipway's sign-in page. The fragment of the page's URL contains a one-time token (`#token=…`),
    or says why the sign-in is refused (`#refused=CODE`). If the user connects an account with the provider,
    the browser is redirected to the settings page, with `#connected=NAME` or `#refused=CODE`. Errors: 404
    `oidc_provider_not_found` if there is no provider with this name.
    """
    providers: Providers = identity_providers
    provider = providers.find(name)
    cookie = attempts.COOKIE.read(request, config)
    page = page_for(None)
    try:
        attempt = attempts.decrypt(cookie, cipher, provider=name, state=state)
        page = page_for(attempt.connects)
        if error or not code:
            logger.info("%s refuses a sign-in: %r", name, error[:200])
            raise refused_by_provider("oidc", provider.title)
        claims = await exchange.claims_for_code(config, providers, provider, attempt, code)
        identity = identity_of(provider, claims)
        outcome = await complete(session, request, provider, identity, attempt.connects)
    except AppError as refusal:
        refused: RefusedSignIns = refused_sign_ins
        refused.tell(request, ActorMeans.PROVIDER, refusal.code, provider=name)
        outcome = f"refused={refusal.code}"
    reply = back_to(config, page, outcome)
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

    `logout_token`: the signed token that names the person or the session at the provider. Errors: 400
    `oidc_logout_token_invalid`; 404 `oidc_provider_not_found` if there is no provider with this name.
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
