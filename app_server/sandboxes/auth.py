"""Authenticates requests that come from sandboxes. Each sandbox has a session key, a secret that it sends
with its requests. All routes of the inner listener (the port of the app server that only sandboxes use) use
this module.
"""

import asyncio
import time
from datetime import datetime
from typing import Annotated

from fastapi import Depends
from sqlalchemy import String, bindparam, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.requests import HTTPConnection

from app_server.core.client_concurrency import Turns
from app_server.core.database import Database, ServerDatabase, now
from app_server.core.errors import NotAuthenticated, Unavailable
from app_server.http.middleware import api_key_of
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.users.tokens import token_hash

RENEWAL_PATIENCE_SECONDS = 20.0
RENEWAL_POLL_SECONDS = 0.2

LOOKED_UP_AT_ONCE = 2
"""The maximum number of requests with the same session key (which means from the same sandbox) that query the
database at the same time. Without this limit, a sandbox that sends hundreds of requests at the same time
would delay the requests of all other clients.
"""
SPACING_SECONDS = 0.01
"""The time in seconds for which a finished database query still counts towards LOOKED_UP_AT_ONCE. This
spreads many simultaneous requests of one sandbox, so that the event loop can serve other clients in between.
A single request does not wait.
"""
_look_ups = Turns(LOOKED_UP_AT_ONCE)

_REVOKED = {SandboxStatus.ERROR, SandboxStatus.MISSING}

_key_hash = bindparam("given", type_=String())
# Built once, since every model call and every event report runs this query.
_HOLDER = select(Sandbox).where(
    or_(
        Sandbox.session_key_hash == _key_hash,
        Sandbox.pending_session_key_hash == _key_hash,
        Sandbox.previous_session_key_hash == _key_hash,
    )
)


async def authenticate(session: AsyncSession, session_key: str) -> Sandbox | None:
    """Returns the sandbox that has this session key, a secret with which a sandbox authenticates. Returns
    None if the key is unknown, replaced or revoked. Raises Unavailable `session_key_expired` if the key has
    expired and the app server has not renewed it yet. The sandbox should then try again.
    """
    given = token_hash(session_key)
    sandbox = (await session.execute(_HOLDER, {"given": given})).scalar_one_or_none()
    if sandbox is None or is_revoked(sandbox):
        return None
    if not _is_over(_end_of(given, sandbox)):
        return sandbox
    if given == sandbox.previous_session_key_hash:
        return None
    raise Unavailable(
        "This session key has expired.",
        code="session_key_expired",
        fix="Slipway renews the keys of sandboxes that run. Try again in a moment.",
        headers={"Retry-After": "1"},
    )


async def authenticate_patiently(database: Database, session_key: str) -> Sandbox | None:
    """Returns the sandbox that has this session key, a secret with which a sandbox authenticates. Returns
    None if the key is unknown, replaced or revoked.

    If the key has expired, waits for its renewal, so that a short delay of the renewal does not interrupt the
    work of an agent. Raises Unavailable `session_key_expired` if the key is not renewed within
    RENEWAL_PATIENCE_SECONDS.
    """
    deadline = time.monotonic() + RENEWAL_PATIENCE_SECONDS
    turn = _look_ups.of(token_hash(session_key))
    while True:
        await turn.acquire()
        try:
            async with database.brief_read() as session:
                return await authenticate(session, session_key)
        except Unavailable:
            if time.monotonic() > deadline:
                raise
        finally:
            asyncio.get_running_loop().call_later(SPACING_SECONDS, turn.release)
        await asyncio.sleep(RENEWAL_POLL_SECONDS)


def is_revoked(sandbox: Sandbox) -> bool:
    """Returns whether the sandbox may no longer authenticate, so that each of its session keys (secrets that
    it sends with its requests) is refused. This is the case if the sandbox has failed, or if the machine on
    which it runs cannot be reached. A sandbox can have several keys while a key is renewed.
    """
    return sandbox.status in _REVOKED


def _end_of(given: str, sandbox: Sandbox) -> datetime | None:
    match given:
        case sandbox.session_key_hash:
            return sandbox.session_key_expires_at
        case sandbox.pending_session_key_hash:
            return sandbox.pending_session_key_expires_at
        case _:
            return sandbox.previous_session_key_expires_at


def _is_over(end: datetime | None) -> bool:
    return end is not None and end <= now()


async def sandbox_of(session: AsyncSession, connection: HTTPConnection) -> Sandbox | None:
    """Returns the sandbox whose session key (the secret with which it authenticates) the request contains.
    Returns None if the request contains no valid session key. Raises Unavailable `session_key_expired` if the
    key has expired and has not been renewed yet.
    """
    key = api_key_of(connection)
    return await authenticate(session, key) if key else None


async def _require_sandbox(database: ServerDatabase, connection: HTTPConnection) -> Sandbox:
    key = api_key_of(connection)
    if key and (sandbox := await authenticate_patiently(database, key)):
        return sandbox
    raise NotAuthenticated(
        "Only a sandbox's session key opens this listener.", headers={"WWW-Authenticate": "Bearer"}
    )


CurrentSandbox = Annotated[Sandbox, Depends(_require_sandbox)]
