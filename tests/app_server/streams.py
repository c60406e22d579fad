"""Helpers for tests that read event streams of conversations over a real socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import websockets
from websockets.exceptions import ConnectionClosed

from tests.app_server.conftest import App, listening
from tests.support.patience import PATIENCE_SECONDS
from tests.support.signed_in import PROOF_HEADER


@asynccontextmanager
async def watching(app: App, client: httpx.AsyncClient, **headers: str) -> AsyncIterator[Any]:
    """Creates a conversation and opens its event stream. Yields the WebSocket.

    headers: additional request headers.
    """
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
    """Reads the WebSocket until it is closed. Returns the close code, or None if the other side sent none."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                await socket.recv()
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else None
