"""Tests of servers that users name and that never end a reply: the app server limits the memory and the time
for each reply.
"""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from app_server.core.errors import BadGateway
from app_server.git_hosts import connection
from app_server.git_hosts.connection import HostAccess
from app_server.git_hosts.forgejo.client import forgejo
from app_server.git_hosts.rate_limits import RateLimits
from app_server.http.bounded_body import BodyTooLong, beginning_of, read_body
from app_server.llm_gateway import model_list
from app_server.llm_gateway.forwarding import pass_through
from app_server.mcp_servers import guarded_client
from tests.app_server.conftest import App, listening
from tests.app_server.problems import assert_problem

PIECE = b" " * 1024
SENT_AT_MOST = 8 * 1024**2


class Endless:
    """A server whose replies do not end. `sent`: how many bytes it has sent.

    seconds: the pause between two pieces of a reply.
    """

    def __init__(self, status: int = 200, seconds: float = 0.0) -> None:
        self.sent = 0
        self._status = status
        self._seconds = seconds
        self.app = Starlette(routes=[Route("/{path:path}", self._answer, methods=["GET", "POST"])])

    async def _answer(self, _: Request) -> Response:
        return StreamingResponse(self._body(), self._status, media_type="application/json")

    async def _body(self) -> AsyncIterator[bytes]:
        yield b"{"
        while True:
            self.sent += len(PIECE)
            yield PIECE
            await asyncio.sleep(self._seconds)


SLOW, FAST = 0.05, 0.0


@pytest.mark.parametrize("seconds", [SLOW, FAST])
async def test_a_list_of_models_without_end(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(model_list, "TIMEOUT_SECONDS", 0.5 if seconds else 60.0)
    monkeypatch.setattr(model_list, "MAX_BYTES", SENT_AT_MOST // 16)
    server = Endless(seconds=seconds)
    async with asyncio.timeout(60), listening(server.app) as url:
        reply = await client.post("/api/v1/settings/model-list", json={"base_url": f"{url}/v1"})
    assert_problem(reply, 502, "llm_vendor_unreachable" if seconds else "model_list_too_long")
    assert server.sent < SENT_AT_MOST


@pytest.mark.parametrize("seconds", [SLOW, FAST])
async def test_a_git_host_that_answers_without_end(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(connection, "TIMEOUT_SECONDS", 0.5 if seconds else 60.0)
    server = Endless(seconds=seconds)
    async with asyncio.timeout(60), listening(server.app) as url, httpx.AsyncClient() as http:
        host = forgejo(HostAccess(url, "token", http, RateLimits()))
        with pytest.raises(BadGateway) as refused:
            await host.me()
    assert refused.value.code == "git_host_failed"
    assert server.sent < SENT_AT_MOST


@pytest.mark.parametrize("seconds", [SLOW, FAST])
async def test_a_vendor_that_refuses_without_end(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(pass_through, "_ERROR_SECONDS", 0.5 if seconds else 60.0)
    server = Endless(status=400, seconds=seconds)
    async with asyncio.timeout(60), listening(server.app) as url:
        llm = {"model": "openai/x", "base_url": f"{url}/v1", "api_key": "k"}
        (await client.post("/api/v1/settings/profiles/mine", json={"llm": llm})).raise_for_status()
        tried = await client.post("/api/v1/settings/profiles/mine/test")
    assert tried.status_code == 200, tried.text
    assert tried.json()["answers"] is False
    assert server.sent < SENT_AT_MOST


async def test_an_mcp_server_that_answers_without_end(
    app: App, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarded_client, "MAX_REPLY_BYTES", SENT_AT_MOST // 16)
    server = Endless()
    async with asyncio.timeout(60), listening(server.app) as url:
        route = "/api/v1/settings/mcp/endless"
        (await client.post(route, json={"url": f"{url}/mcp"})).raise_for_status()
        report = (await client.post(f"{route}/test")).json()
    assert report["ok"] is False
    assert server.sent < SENT_AT_MOST


async def test_a_body_is_read_to_its_end_or_not_taken() -> None:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(4):
            yield b"1234"

    def reply() -> httpx.Response:
        request = httpx.Request("GET", "http://named.example")
        return httpx.Response(200, content=body(), request=request)

    assert await read_body(reply(), 16, 60.0) == b"1234" * 4
    with pytest.raises(BodyTooLong):
        await read_body(reply(), 15, 60.0)
    assert await beginning_of(reply(), 6, 60.0) == b"123412"
