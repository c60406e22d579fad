"""Fixtures: those of the app server's own tests, and an HTTP client in which the owner is signed in."""

from collections.abc import AsyncIterator

import httpx
import pytest

from app_server.sign_in.service import create_link
from app_server.users.models import User
from tests.app_server.conftest import (
    App,
    anonymous,
    app,
    client,
    config,
    http_client,
    inner,
    no_outer_configuration,
    owner,
)
from tests.support.signed_in import sign_in_async

__all__ = [
    "anonymous",
    "app",
    "client",
    "config",
    "inner",
    "no_outer_configuration",
    "owner",
]

ORIGIN = {"Origin": "http://localhost:3000"}


@pytest.fixture
async def browser(app: App, owner: User) -> AsyncIterator[httpx.AsyncClient]:
    """Yields an HTTP client in which the owner is signed in. Its requests come from the
    origin of our page.
    """
    async with app.database.session() as session:
        token = await create_link(session, owner.id)
    async with http_client(app.public, headers=ORIGIN) as signed_in:
        await sign_in_async(signed_in, token)
        yield signed_in
