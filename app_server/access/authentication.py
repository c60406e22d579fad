"""Finds out which user sends a request. Every route of the public app depends on these functions.

A request is authenticated by an API key in a header, or by the cookie of a browser session. If there is a
key, the cookie is not used: if the key is wrong, the request is refused even with a valid cookie.

The cookie counts only together with the page proof, a secret that only Slipway's pages know. Without this
proof, other programs on the same host could use the cookie, because browsers send cookies to every port of a
host.
"""

import hmac
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, WebSocket
from sqlalchemy import select, update
from starlette.requests import HTTPConnection

from app_server.access.credentials_in_use import Credential
from app_server.access.permissions import permissions_of
from app_server.access.principal import Principal
from app_server.access.web_sessions import end_of_session
from app_server.core.addresses import is_from
from app_server.core.database import Database, now
from app_server.core.errors import NotAuthenticated
from app_server.core.logs import bind
from app_server.http.middleware import api_key_of, page_proof_of, session_cookie
from app_server.users.models import ApiKey, User, WebSession
from app_server.users.tokens import token_hash

_KEY_TOUCH_INTERVAL = timedelta(minutes=1)
_SESSION_TOUCH_INTERVAL = timedelta(hours=1)

_FIX = "Run `slipway sign-in-link` on the server and open the link it prints."
_PRINCIPAL = "slipway.principal"
_BEARER = {"WWW-Authenticate": "Bearer"}


async def authenticate(connection: HTTPConnection) -> Principal:
    """Returns the principal (user, permissions and credential) of this request or WebSocket.

    Looks up the credential only once for each request or WebSocket. Raises NotAuthenticated if the request
    has no valid credential.
    """
    known: Principal | None = connection.scope.get(_PRINCIPAL)
    if known is None:
        known = connection.scope[_PRINCIPAL] = await _authenticate(connection)
    return known


async def _authenticate(connection: HTTPConnection) -> Principal:
    key = api_key_of(connection)
    if key is not None:
        found = await _by_api_key(connection, key)
    elif cookie := connection.cookies.get(session_cookie(connection.state.config)):
        found = await _by_session(connection, cookie)
    else:
        found = None
    if found is None:
        raise NotAuthenticated("Sign in, or send an API key.", fix=_FIX, headers=_BEARER)
    if found.user.disabled_at is not None:
        raise account_disabled()
    bind(user_id=found.user.id.hex)
    return found


CurrentPrincipal = Annotated[Principal, Depends(authenticate)]


async def require_user(principal: CurrentPrincipal) -> User:
    return principal.user


CurrentUser = Annotated[User, Depends(require_user)]


async def authenticate_websocket(websocket: WebSocket) -> Principal | None:
    """Returns the principal (user, permissions and credential) of this WebSocket. Returns None if the
    WebSocket is not authenticated; the caller then closes it with code 4001.
    """
    try:
        return await authenticate(websocket)
    except NotAuthenticated:
        return None


async def identify_user(connection: HTTPConnection) -> UUID | None:
    """Returns the id of the user who sends this request. Returns None if the request is not authenticated.

    The middleware LargeBodies calls this function before it accepts a large request body. It refuses the
    body if the user is not known.
    """
    try:
        return (await _authenticate(connection)).user.id
    except NotAuthenticated:
        return None


async def _by_api_key(connection: HTTPConnection, key: str) -> Principal | None:
    database: Database = connection.state.database
    query = (
        select(User, ApiKey).join(ApiKey, ApiKey.user_id == User.id).where(ApiKey.key_hash == token_hash(key))
    )
    async with database.read() as session:
        found = (await session.execute(query)).one_or_none()
    if found is None:
        return None
    user, api_key = found
    if api_key.expires_at is not None and api_key.expires_at <= now():
        raise NotAuthenticated(
            "This API key has expired.",
            code="api_key_expired",
            fix="Create another one in the settings.",
            headers=_BEARER,
        )
    client = connection.client
    if api_key.addresses is not None and not is_from(client and client.host, api_key.addresses):
        raise NotAuthenticated(
            "This API key is not valid for the address that this request comes from.",
            code="api_key_address_not_allowed",
            fix="Use another key. Behind a reverse proxy, name it in SLIPWAY_TRUSTED_PROXIES.",
            headers=_BEARER,
        )
    if api_key.last_used_at is None or now() - api_key.last_used_at > _KEY_TOUCH_INTERVAL:
        _in_background(connection, _touch_api_key(database, api_key), name="touch api key")
    return Principal(
        user, permissions_of(user.role, user.organisation_id, api_key.scopes), Credential("key", api_key.id)
    )


async def _by_session(connection: HTTPConnection, cookie: str) -> Principal | None:
    proof = page_proof_of(connection)
    if proof is None:
        raise _page_proof_missing()
    database: Database = connection.state.database
    query = (
        select(User, WebSession)
        .join(WebSession, WebSession.user_id == User.id)
        .where(WebSession.token_hash == token_hash(cookie), WebSession.expires_at > now())
    )
    async with database.read() as session:
        found = (await session.execute(query)).one_or_none()
    if found is None:
        return None
    user, web_session = found
    if not hmac.compare_digest(web_session.proof_hash, token_hash(proof)):
        raise _page_proof_missing()
    end = end_of_session(connection.state.config, web_session.created_at)
    is_extended = end - web_session.expires_at > _SESSION_TOUCH_INTERVAL
    last_used_at = web_session.last_used_at
    if is_extended or last_used_at is None or now() - last_used_at > _SESSION_TOUCH_INTERVAL:
        _in_background(connection, _extend_session(database, web_session, end), name="extend web session")
    return Principal(
        user, permissions_of(user.role, user.organisation_id), Credential("session", web_session.id)
    )


def account_disabled() -> NotAuthenticated:
    return NotAuthenticated(
        "This account is disabled.",
        code="account_disabled",
        fix="Ask an administrator to enable it.",
        headers=_BEARER,
    )


def _page_proof_missing() -> NotAuthenticated:
    return NotAuthenticated(
        "This page cannot prove that it belongs to your sign-in, so you have to sign in again.",
        code="page_proof_missing",
        fix=_FIX,
        headers=_BEARER,
    )


async def _touch_api_key(database: Database, api_key: ApiKey) -> None:
    async with database.session() as session:
        await session.execute(update(ApiKey).where(ApiKey.id == api_key.id).values(last_used_at=now()))


async def _extend_session(database: Database, web_session: WebSession, end: datetime) -> None:
    statement = update(WebSession).where(WebSession.token_hash == web_session.token_hash)
    async with database.session() as session:
        await session.execute(statement.values(expires_at=end, last_used_at=now()))


def _in_background(connection: HTTPConnection, work: Coroutine[Any, Any, None], *, name: str) -> None:
    # Writing inside the request could wait for the very write lock that the same request holds.
    connection.state.background.start(work, name=name)
