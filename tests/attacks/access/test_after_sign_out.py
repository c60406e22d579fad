"""What was opened while a user was signed in ends with the session, or with the deleted key."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import websockets
from sqlalchemy import update
from websockets.exceptions import ConnectionClosed

from app_server.database import now
from app_server.users.models import WebSession
from tests.app_server.conftest import App, listening
from tests.support.patience import PATIENCE_SECONDS
from tests.support.signed_in import PROOF_HEADER


async def sign_out(_app: App, browser: httpx.AsyncClient) -> None:
    assert (await browser.delete("/api/v1/sign-in/session")).status_code == 204


async def expire(app: App, _browser: httpx.AsyncClient) -> None:
    async with app.database.session() as session:
        await session.execute(update(WebSession).values(expires_at=now()))


@asynccontextmanager
async def watching(app: App, client: httpx.AsyncClient, **headers: str) -> AsyncIterator[Any]:
    """An open stream of a new conversation, and the URL of our public app."""
    made = (await client.post("/api/v1/app-conversations", json={})).json()["id"]
    async with listening(app.public) as url:
        stream = f"{url.replace('http', 'ws')}/api/v1/conversation/{made}/events/stream"
        proof = client.headers.get(PROOF_HEADER)
        offered: Any = ["slipway", f"slipway.proof.{proof}"] if proof else None
        given = {"Origin": url, **headers}
        async with websockets.connect(stream, additional_headers=given, subprotocols=offered) as socket:
            assert json.loads(await socket.recv())["type"] == "sync"
            yield socket


async def close_code(socket: Any) -> int | None:
    """Reads what still comes, up to the end."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                await socket.recv()
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else None


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
