"""A stream of events ends when the user who opened it signs out, or when the API key that opened it is
deleted.
"""

import asyncio
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from app_server.core.database import now
from app_server.users.models import WebSession
from tests.app_server.conftest import App
from tests.app_server.streams import close_code, watching
from tests.support.patience import PATIENCE_SECONDS


async def sign_out(_app: App, browser: httpx.AsyncClient) -> None:
    assert (await browser.delete("/api/v1/sign-in/session")).status_code == 204


async def expire(app: App, _browser: httpx.AsyncClient) -> None:
    async with app.database.session() as session:
        await session.execute(update(WebSession).values(expires_at=now()))


@pytest.mark.parametrize("end", [sign_out, expire])
async def test_a_stream_ends_with_its_session(app: App, browser: httpx.AsyncClient, end: Any) -> None:
    cookie = f"slipway_session={browser.cookies['slipway_session']}"
    async with watching(app, browser, Cookie=cookie) as socket:
        await end(app, browser)
        assert await close_code(socket) == 4001


async def test_a_stream_ends_with_its_key_and_others_go_on(
    app: App, client: httpx.AsyncClient, browser: httpx.AsyncClient
) -> None:
    cookie = f"slipway_session={browser.cookies['slipway_session']}"
    key = client.headers["Authorization"]
    async with (
        watching(app, client, Authorization=key) as of_key,
        watching(app, browser, Cookie=cookie) as of_session,
    ):
        [one] = (await client.get("/api/v1/api-keys")).json()
        assert (await client.delete(f"/api/v1/api-keys/{one['id']}")).status_code == 204
        assert await close_code(of_key) == 4001
        async with asyncio.timeout(PATIENCE_SECONDS):
            await (await of_session.ping())
