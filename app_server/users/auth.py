"""Who is asking: the dependencies every public route uses.

A key in a header beats the cookie, and a wrong key is never forgiven for the sake of a good cookie.
"""

from collections.abc import Coroutine
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Depends, WebSocket
from sqlalchemy import select, update
from starlette.requests import HTTPConnection

from app_server.database import Database, now
from app_server.errors import Forbidden, NotAuthenticated
from app_server.logs import bind
from app_server.middleware import session_cookie
from app_server.users.models import ADMINISTRATORS, ApiKey, User, WebSession
from app_server.users.tokens import token_hash

_KEY_TOUCH_INTERVAL = timedelta(minutes=1)
_SESSION_TOUCH_INTERVAL = timedelta(hours=1)


async def require_user(connection: HTTPConnection) -> User:
    """The user behind this request or WebSocket. Raises NotAuthenticated."""
    if key := api_key_of(connection):
        user = await _user_of_api_key(connection, key)
    elif cookie := connection.cookies.get(session_cookie(connection.state.config)):
        user = await _user_of_session(connection, cookie)
    else:
        user = None
    if user is None:
        raise NotAuthenticated(
            "Sign in, or send an API key.",
            fix="Run `slipway sign-in-link` on the server and open the link it prints.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    bind(user_id=user.id.hex)
    return user


async def _require_admin(user: Annotated[User, Depends(require_user)]) -> User:
    if user.role not in ADMINISTRATORS:
        raise Forbidden("Only administrators of this installation may do that.")
    return user


CurrentUser = Annotated[User, Depends(require_user)]
AdminUser = Annotated[User, Depends(_require_admin)]


async def authenticate_websocket(websocket: WebSocket) -> User | None:
    """The user behind this WebSocket; None: close it with 4001."""
    try:
        return await require_user(websocket)
    except NotAuthenticated:
        return None


def api_key_of(connection: HTTPConnection) -> str | None:
    """The key in the headers, if any: `X-Session-API-Key: KEY` or `Authorization: Bearer KEY`."""
    if key := connection.headers.get("x-session-api-key"):
        return key
    scheme, _, credentials = connection.headers.get("authorization", "").partition(" ")
    return credentials.strip() if scheme.lower() == "bearer" else None


async def _user_of_api_key(connection: HTTPConnection, key: str) -> User | None:
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
    return user


async def _user_of_session(connection: HTTPConnection, cookie: str) -> User | None:
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
    lifetime = timedelta(days=connection.state.config.session_days)
    if now() + lifetime - web_session.expires_at > _SESSION_TOUCH_INTERVAL:
        _in_background(
            connection, _extend_session(database, web_session, lifetime), name="extend web session"
        )
    return user


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
