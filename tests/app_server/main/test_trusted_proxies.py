"""Tests of the client's address of a request, behind a reverse proxy and without one."""

import asyncio
import socket
from collections.abc import Sequence

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from app_server.core.config import load_config
from app_server.core.errors import ConfigurationError
from app_server.http.listeners import Server


async def where_from(scope: Scope, receive: Receive, send: Send) -> None:
    client = Request(scope).client
    await PlainTextResponse(client.host if client else "")(scope, receive, send)


async def seen_by(trusted: Sequence[str]) -> str:
    server = Server(where_from, trusted_proxies=trusted)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        serving = asyncio.create_task(server.serve([listener]))
        async with httpx.AsyncClient(trust_env=False) as client:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            reply = await client.get(url, headers={"X-Forwarded-For": "198.51.100.9, 192.0.2.7"})
        server.should_exit = True
        await serving
    return reply.text


async def test_only_a_trusted_proxy_says_where_a_request_comes_from() -> None:
    assert await seen_by([]) == "127.0.0.1"
    assert await seen_by(["192.0.2.0/24"]) == "127.0.0.1"
    # The header begins with the visitor's own value. The proxy adds its value at the end.
    assert await seen_by(["127.0.0.1/32"]) == "192.0.2.7"
    assert await seen_by(["127.0.0.1/32", "192.0.2.0/24"]) == "198.51.100.9"


def test_proxies_are_addresses_or_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIPWAY_TRUSTED_PROXIES", '["127.0.0.1", "10.0.0.1/8"]')
    assert load_config().trusted_proxies == ["127.0.0.1/32", "10.0.0.0/8"]
    monkeypatch.setenv("SLIPWAY_TRUSTED_PROXIES", '["proxy.example.org"]')
    with pytest.raises(ConfigurationError, match="SLIPWAY_TRUSTED_PROXIES"):
        load_config()
