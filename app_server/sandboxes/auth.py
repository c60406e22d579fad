"""Which sandbox is asking: the dependency of every route of the inner listener."""

from typing import Annotated

from fastapi import Depends
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.requests import HTTPConnection

from app_server.errors import NotAuthenticated
from app_server.sandboxes.models import Sandbox
from app_server.users.auth import api_key_of
from app_server.users.tokens import token_hash


async def authenticate(session: AsyncSession, session_key: str) -> Sandbox | None:
    """The sandbox whose key this is."""
    query = select(Sandbox).where(Sandbox.session_key_hash == token_hash(session_key))
    return (await session.execute(query)).scalar_one_or_none()


async def _require_sandbox(connection: HTTPConnection) -> Sandbox:
    if key := api_key_of(connection):
        async with connection.state.database.read() as session:
            if sandbox := await authenticate(session, key):
                return sandbox
    raise NotAuthenticated(
        "Only a sandbox's session key opens this listener.", headers={"WWW-Authenticate": "Bearer"}
    )


CurrentSandbox = Annotated[Sandbox, Depends(_require_sandbox)]
