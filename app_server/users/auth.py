"""Who is asking: the dependencies every public route uses.

A key in a header beats the cookie, and a wrong key is never forgiven for the sake of a good cookie. The
cookie counts only together with the proof of its page: browsers send cookies to every port of our host.
"""

import hmac
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, WebSocket
from sqlalchemy import select, update
from starlette.requests import HTTPConnection

from app_server.database import Database, now
from app_server.errors import Forbidden, NotAuthenticated
from app_server.logs import bind
from app_server.middleware import api_key_of, page_proof_of, session_cookie
from app_server.users.in_use import Credential
from app_server.users.models import ADMINISTRATORS, ApiKey, User, WebSession
from app_server.users.tokens import token_hash

_KEY_TOUCH_INTERVAL = timedelta(minutes=1)
_SESSION_TOUCH_INTERVAL = timedelta(hours=1)

_FIX = "Run `slipway sign-in-link` on the server and open the link it prints."
_BEARER = {"WWW-Authenticate": "Bearer"}


@dataclass(frozen=True)
class Authenticated:
    """A user, and by what this request acts for them."""

    user: User
    credential: Credential


async def authenticate(connection: HTTPConnection) -> Authenticated:
    """Who is behind this request or WebSocket. Raises NotAuthenticated."""
    key = api_key_of(connection)
    if key is not None:
        found = await _by_api_key(connection, key)
    elif cookie := connection.cookies.get(session_cookie(connection.state.config)):
        found = await _by_session(connection, cookie)
    else:
        found = None
    if found is None:
        raise NotAuthenticated("Sign in, or send an API key.", fix=_FIX, headers=_BEARER)
    bind(user_id=found.user.id.hex)
    return found


Authentication = Annotated[Authenticated, Depends(authenticate)]


async def require_user(authentication: Authentication) -> User:
    return authentication.user


async def _require_admin(user: Annotated[User, Depends(require_user)]) -> User:
    if user.role not in ADMINISTRATORS:
        raise Forbidden("Only administrators of this installation may do that.")
    return user


CurrentUser = Annotated[User, Depends(require_user)]
AdminUser = Annotated[User, Depends(_require_admin)]


async def authenticate_websocket(websocket: WebSocket) -> Authenticated | None:
    """Who is behind this WebSocket; None: close it with 4001."""
    try:
        return await authenticate(websocket)
    except NotAuthenticated:
        return None


async def identify_user(connection: HTTPConnection) -> UUID | None:
    """The id of the user behind this request, for what must know it before the request is read."""
    try:
        return (await authenticate(connection)).user.id
    except NotAuthenticated:
        return None


async def _by_api_key(connection: HTTPConnection, key: str) -> Authenticated | None:
    database: Database = connection.state.database
    query = (
        select(User, ApiKey).join(ApiKey, ApiKey.user_id == User.id).where(ApiKey.key_hash == token_hash(key))
    )
    async with database.read() as session:
        found = (await session.execute(query)).one_or_none()
    if found is None:
        return None
    user, api_key = found
    if api_key.last_used_at is None or now() - api_key.last_used_at > _KEY_TOUCH_INTERVAL:
        _in_background(connection, _touch_api_key(database, api_key), name="touch api key")
    return Authenticated(user, Credential("key", api_key.id))


async def _by_session(connection: HTTPConnection, cookie: str) -> Authenticated | None:
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
    lifetime = timedelta(days=connection.state.config.session_days)
    if now() + lifetime - web_session.expires_at > _SESSION_TOUCH_INTERVAL:
        _in_background(
            connection, _extend_session(database, web_session, lifetime), name="extend web session"
        )
    return Authenticated(user, Credential("session", web_session.id))


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


async def _extend_session(database: Database, web_session: WebSession, lifetime: timedelta) -> None:
    statement = update(WebSession).where(WebSession.token_hash == web_session.token_hash)
    async with database.session() as session:
        await session.execute(statement.values(expires_at=now() + lifetime))


def _in_background(connection: HTTPConnection, work: Coroutine[Any, Any, None], *, name: str) -> None:
    # Writing inside the request could wait for the very write lock that the same request holds.
    connection.state.background.start(work, name=name)
