"""Tests of calls from a sandbox to its user's MCP servers, with real MCP servers, a real MCP client and
session keys.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from app_server.mcp_broker.pass_through import MAX_EXCHANGES
from app_server.sandboxes.auth import authenticate
from tests.app_server.conftest import App, listening
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem
from tests.app_server.sandbox_keys import Keys
from tests.support.mcp_processes import http_server
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port

SETTINGS = "/api/v1/settings/mcp"
KEY = "canary-header-8c1e44d0"
HEADERS = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture(scope="module")
def guarded_url() -> Iterator[str]:
    with http_server("tests.support.mcp_server", "http", SLIPWAY_TEST_MCP_KEY=KEY) as url:
        yield url


@pytest.fixture(scope="module")
def echo_url() -> Iterator[str]:
    with http_server("tests.support.mcp_echo_server") as url:
        yield url


async def add(client: httpx.AsyncClient, name: str, url: str, **fields: Any) -> None:
    reply = await client.post(f"{SETTINGS}/{name}", json={"url": url, "headers": HEADERS, **fields})
    assert reply.status_code == 201, reply.text


async def test_an_mcp_client_with_the_session_key_calls_a_tool(
    app: App, client: httpx.AsyncClient, keys: Keys, guarded_url: str
) -> None:
    await add(client, "sums", guarded_url)
    async with listening(app.inner) as inner_url, create_mcp_http_client(headers=keys.own) as http:
        connection = streamable_http_client(f"{inner_url}/mcp/sums", http_client=http)
        async with Client(connection) as mcp:
            tools = [tool.name for tool in (await mcp.list_tools()).tools]
            result = await mcp.call_tool("add", {"a": 2, "b": 40})
    assert "add" in tools
    assert result.content[0].text == "sum=42"


async def test_only_a_sandbox_of_the_user_comes_through_and_only_while_the_server_is_on(
    client: httpx.AsyncClient, inner: httpx.AsyncClient, keys: Keys, echo_url: str
) -> None:
    await add(client, "echo", echo_url)
    assert_problem(await inner.post("/mcp/echo"), 401, "not_authenticated")
    assert_problem(await inner.post("/mcp/echo", headers=keys.foreign), 404, "mcp_server_not_found")
    assert (await inner.post("/mcp/echo", headers=keys.own)).status_code == 200
    await client.patch(f"{SETTINGS}/echo", json={"enabled": False})
    assert_problem(await inner.post("/mcp/echo", headers=keys.own), 404, "mcp_server_off")
    await client.post(f"{SETTINGS}/files", json={"command": "npx"})
    assert_problem(await inner.post("/mcp/files", headers=keys.own), 404, "mcp_server_off")


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_the_stored_headers_replace_what_the_sandbox_sent(
    client: httpx.AsyncClient, inner: httpx.AsyncClient, keys: Keys, echo_url: str, method: str
) -> None:
    await add(client, "echo", echo_url, headers={"X-Api-Key": KEY, "X-Team": "harbour"})
    sent = {
        **keys.own,
        "Authorization": "Bearer own-key",
        "Cookie": "slipway_session=1",
        "X-Api-Key": "of the sandbox",
        "Mcp-Session-Id": "session-0",
        "MCP-Protocol-Version": "2025-11-25",
        "Last-Event-ID": "7",
        "Accept": "application/json, text/event-stream",
    }
    reply = await inner.request(method, "/mcp/echo?status=500", headers=sent, content=b"{}")
    assert reply.status_code == 200
    assert reply.headers["mcp-session-id"] == "session-1"
    assert "x-internal" not in reply.headers
    seen = reply.json()
    assert (seen["method"], seen["body"]) == (method, "{}")
    assert {name: seen["headers"][name] for name in ("mcp-session-id", "mcp-protocol-version", "x-team")} == {
        "mcp-session-id": "session-0",
        "mcp-protocol-version": "2025-11-25",
        "x-team": "harbour",
    }
    assert seen["headers"]["last-event-id"] == "7"
    assert seen["headers"]["x-api-key"] == "[hidden]", "it was sent, and taken out of the answer"
    assert not {"authorization", "cookie", "x-session-api-key"} & set(seen["headers"])
    assert "own-key" not in reply.text


async def test_cookies_of_a_server_are_neither_kept_nor_passed_on(
    client: httpx.AsyncClient, inner: httpx.AsyncClient, keys: Keys, echo_url: str
) -> None:
    await add(client, "echo", f"{echo_url}?cookie=of-the-first-user")
    first = await inner.post("/mcp/echo", headers=keys.own)
    assert "set-cookie" not in first.headers
    second = await inner.post("/mcp/echo", headers=keys.own)
    assert "cookie" not in second.json()["headers"]


async def test_troubles_of_the_server_say_what_to_do(
    client: httpx.AsyncClient, inner: httpx.AsyncClient, keys: Keys, echo_url: str
) -> None:
    await add(client, "gone", f"http://127.0.0.1:{free_port()}/mcp")
    await add(client, "moved", f"{echo_url}?status=307&location=http://127.0.0.1:9/")
    await add(client, "shut", f"{echo_url}?status=401")
    await add(client, "lost", f"{echo_url}?status=404")
    for name, code in (
        ("gone", "mcp_server_unreachable"),
        ("moved", "mcp_server_redirected"),
        ("shut", "mcp_credentials_refused"),
    ):
        reply = await inner.post(f"/mcp/{name}", headers=keys.own)
        assert_problem(reply, 502, code)
        assert reply.json()["fix"]
        assert KEY not in reply.text
    # The status 404 means that the MCP session has ended: the client starts a new one.
    assert (await inner.post("/mcp/lost", headers=keys.own)).status_code == 404


async def test_a_stream_passes_as_it_comes_and_ends_when_its_listener_goes(
    app: App, client: httpx.AsyncClient, keys: Keys, echo_url: str
) -> None:
    await add(client, "echo", f"{echo_url}?stream=1")

    async def is_free() -> bool:
        return not app.state["mcp_exchanges"].open

    async with (
        listening(app.inner) as inner_url,
        httpx.AsyncClient(base_url=inner_url, timeout=PATIENCE_SECONDS, headers=keys.own) as sandbox,
    ):
        async with sandbox.stream("GET", "/mcp/echo") as reply:
            assert await anext(reply.aiter_bytes()) == b"id: 1\ndata: first\n\n"
            assert not await is_free()
        await eventually(is_free)


async def test_a_sandbox_has_so_many_exchanges_at_a_time(
    app: App, client: httpx.AsyncClient, inner: httpx.AsyncClient, keys: Keys, echo_url: str
) -> None:
    await add(client, "echo", echo_url)
    async with app.database.read() as session:
        sandbox = await authenticate(session, "own-key")
    assert sandbox is not None
    with ExitStack() as stack:
        for _ in range(MAX_EXCHANGES):
            stack.enter_context(app.state["mcp_exchanges"].of(sandbox.id))
        assert_problem(await inner.post("/mcp/echo", headers=keys.own), 429, "too_many_mcp_exchanges")
    assert (await inner.post("/mcp/echo", headers=keys.own)).status_code == 200


async def test_what_is_sent_may_be_only_so_large(
    client: httpx.AsyncClient, inner: httpx.AsyncClient, keys: Keys, echo_url: str
) -> None:
    await add(client, "echo", echo_url)
    reply = await inner.post("/mcp/echo", headers=keys.own, content=b"x" * (4 * 1024**2 + 1))
    assert_problem(reply, 413, "payload_too_large")
