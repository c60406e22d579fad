"""Carries out a sign-in to a git host in one of two ways: by a redirect of the browser (RFC 6749 with PKCE),
or by a code that the user types at the host (RFC 8628).
"""

from datetime import timedelta
from urllib.parse import urlsplit
from uuid import UUID

import httpx
from pydantic import SecretStr
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import now
from app_server.core.encryption import Cipher
from app_server.core.errors import AppError, BadRequest
from app_server.git.credentials import credential_of_origin, save_credential
from app_server.git.models import GitCredential, GitGrant, PushScope
from app_server.git.providers import GitProvider
from app_server.git.schemas import SaveGitCredential
from app_server.git_hosts import errors
from app_server.git_hosts.authorization.attempts import LIFETIME, DeviceAttempt, RedirectAttempt
from app_server.git_hosts.authorization.endpoints import OAuthApp
from app_server.git_hosts.authorization.token_calls import (
    GrantedTokens,
    TokenRefusal,
    ask,
    ask_for_tokens,
    refused,
)

# What git has to name beside a token of a sign-in.
_NAMES_FOR_GIT = {GitProvider.GITLAB: "oauth2", GitProvider.BITBUCKET_DATA_CENTER: "x-token-auth"}
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_USUAL_INTERVAL_SECONDS = 5
_SLOWER_SECONDS = 5
_MAX_INTERVAL_SECONDS = 300


class DeviceCode(DeviceAttempt):
    """An unfinished sign-in by a code. It contains the code to show to the user, and the address at which the
    user types the code.
    """

    user_code: str
    verification_uri: str


def authorization_url(app: OAuthApp, attempt: RedirectAttempt) -> str:
    """Returns the address at the git host that the user's browser must open to sign in."""
    # Loaded at the first sign-in: it takes a while, and many servers have no application.
    from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
    from authlib.oauth2.rfc7636 import create_s256_code_challenge

    return str(
        prepare_grant_uri(
            app.authorization_url,
            client_id=app.client_id,
            response_type="code",
            redirect_uri=attempt.redirect_uri,
            scope=app.scopes or None,
            state=attempt.state,
            code_challenge=create_s256_code_challenge(attempt.verifier),
            code_challenge_method="S256",
        )
    )


async def tokens_for_code(
    http: httpx.AsyncClient, app: OAuthApp, attempt: RedirectAttempt, code: str
) -> GrantedTokens:
    """Exchanges the code that the browser has brought from the git host for tokens, and returns the tokens.
    `attempt`: the unfinished sign-in to which the code belongs. Raises BadGateway `git_sign_in_refused` if
    the git host refuses the code. Raises BadGateway `git_host_failed` if the host does not reply. Raises
    Forbidden `private_address` if the host is in a private network.
    """
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": attempt.redirect_uri,
        "code_verifier": attempt.verifier,
    }
    try:
        return await ask_for_tokens(http, app, form)
    except TokenRefusal as refusal:
        raise refused(app, refusal) from refusal


async def begin_device(
    http: httpx.AsyncClient, app: OAuthApp, user_id: UUID, credential_id: UUID
) -> DeviceCode:
    """Starts a sign-in by a code: asks the git host for a code that the user types there. Returns the
    unfinished sign-in with the code.

    `user_id`: the user who signs in. `credential_id`: the Slipway session or API key with which the user
    began the sign-in. The sign-in can be finished only with the same session or API key.

    Raises BadRequest `git_host_cannot` if the host does not support sign-ins by a code. Raises BadGateway
    `git_sign_in_refused` if the host refuses the request. Raises BadGateway `git_host_failed` if the host
    does not reply. Raises Forbidden `private_address` if the host is in a private network.
    """
    if app.device_url is None:
        raise errors.cannot(app.host, "let users sign in with a code")
    try:
        reply = await ask(http, app, app.device_url, {"scope": app.scopes})
    except TokenRefusal as refusal:
        raise refused(app, refusal) from refusal
    verification_uri = reply.get("verification_uri")
    texts = (reply.get("device_code"), reply.get("user_code"), verification_uri)
    if not all(isinstance(text, str) and 0 < len(text) <= 2000 for text in texts):
        raise errors.failed(app.host, "its answer has an unknown form")
    if urlsplit(str(verification_uri)).scheme not in {"http", "https"}:
        raise errors.failed(app.host, "its page for the code has no web address")
    interval = _interval(reply.get("interval"))
    life = reply.get("expires_in")
    seconds = life if isinstance(life, int) and life > 0 else LIFETIME.total_seconds()
    return DeviceCode(
        app_id=app.id,
        user_id=user_id,
        credential_id=credential_id,
        expires_at=now() + timedelta(seconds=min(seconds, 3600)),
        device_code=str(texts[0]),
        interval=interval,
        ask_at=now() + timedelta(seconds=interval),
        user_code=str(texts[1]),
        verification_uri=str(verification_uri),
    )


async def ask_about_device(
    http: httpx.AsyncClient, app: OAuthApp, attempt: DeviceAttempt
) -> GrantedTokens | DeviceAttempt:
    """Asks the git host whether the user has typed the code of this sign-in at the host. Returns the tokens
    if the user has typed the code. Otherwise returns the unfinished sign-in with the earliest time of the
    next request to the host (`ask_at`). If `attempt.ask_at` is not reached yet, returns `attempt` and does
    not ask the host.

    Raises BadRequest `git_sign_in_denied` if the user refused the sign-in at the host or the code expired.
    Raises BadGateway `git_sign_in_refused` if the host refuses the request. Raises BadGateway
    `git_host_failed` if the host does not reply. Raises Forbidden `private_address` if the host is in a
    private network.
    """
    if now() < attempt.ask_at:
        return attempt
    form = {"grant_type": _DEVICE_GRANT, "device_code": attempt.device_code}
    try:
        return await ask_for_tokens(http, app, form)
    except TokenRefusal as refusal:
        if refusal.error in {"access_denied", "expired_token"}:
            raise denied(app, refusal.error) from refusal
        if refusal.error not in {"authorization_pending", "slow_down"}:
            raise refused(app, refusal) from refusal
        slower = _SLOWER_SECONDS if refusal.error == "slow_down" else 0
    interval = _interval(attempt.interval + slower)
    changes = {"interval": interval, "ask_at": now() + timedelta(seconds=interval)}
    return attempt.model_copy(update=changes)


async def connect(
    session: AsyncSession,
    cipher: Cipher,
    user_id: UUID,
    app: OAuthApp,
    granted: GrantedTokens,
    *,
    installation_id: str | None = None,
) -> tuple[GitCredential, GitGrant]:
    """Stores the tokens that a git host granted at a sign-in as the user's credential for the host. Replaces
    the user's stored credential for this host, if there is one, but keeps the setting that states to which
    branches agents may push. Returns the stored rows.

    `installation_id`: the installation of a GitHub App that the tokens belong to; None for tokens of the
    user. Raises Conflict `too_many_git_credentials` if the user already has tokens for the maximum number of
    hosts. Raises Conflict `git_credential_exists` if another request stores a token for this host at the same
    moment.
    """
    known = await credential_of_origin(session, user_id, app.origin)
    given = SaveGitCredential(
        host=app.origin,
        token=SecretStr(granted.access_token),
        provider=app.provider,
        api_url=app.api_url,
        certificate_authorities=app.certificate_authorities,
        username=_NAMES_FOR_GIT.get(app.provider),
        push_scope=known.push_scope if known else PushScope.OWN,
    )
    row = await save_credential(session, cipher, user_id, given)
    grant = GitGrant(
        credential_id=row.id,
        app_id=app.id,
        refresh_token_encrypted=cipher.encrypt(granted.refresh_token) if granted.refresh_token else None,
        installation_id=installation_id,
        # A host that names no scopes has granted the requested ones (RFC 6749, section 5.1).
        scopes=(app.scopes if granted.scopes is None else granted.scopes) or None,
        expires_at=granted.expires_at,
        renew_at=granted.renew_at,
    )
    session.add(grant)
    await session.flush()
    return row, grant


def denied(app: OAuthApp, error: str) -> AppError:
    return BadRequest(
        f"The sign-in at {app.host} was not completed ({error[:200]}).",
        code="git_sign_in_denied",
        fix="Start it again in the settings, under Git hosts.",
    )


def _interval(seconds: object) -> float:
    if not isinstance(seconds, int | float) or seconds <= 0:
        return _USUAL_INTERVAL_SECONDS
    return min(float(seconds), _MAX_INTERVAL_SECONDS)
