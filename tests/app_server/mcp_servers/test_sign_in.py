"""Tests of signing in to MCP servers with OAuth: a real MCP server, tokens that expire, and which user may
finish a sign-in.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from sqlalchemy import select
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from app_server.core.config import Config
from app_server.core.errors import Forbidden
from app_server.mcp_servers.grants import Grants, OAuthGrant, save_grant
from app_server.mcp_servers.models import McpGrant
from app_server.mcp_servers.scopes import requested_scope, union
from app_server.mcp_servers.sign_in import MAX_SIGN_INS
from app_server.users.models import Role
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client, listening
from tests.app_server.problems import assert_problem
from tests.app_server.sandbox_keys import Keys
from tests.support.mcp_processes import http_server
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port

ROUTE = "/api/v1/settings/mcp"
SIGN_INS = "/api/v1/mcp-sign-ins"
OAUTH = {"strategy": "oauth2"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def config(config: Config, request: pytest.FixtureRequest) -> Config:
    """Returns a configuration that allows the private addresses of the fixture's parameter. Without a
    parameter it allows none.
    """
    return config.model_copy(update={"egress_private": getattr(request, "param", [])})


ELSEWHERE = pytest.mark.parametrize("config", [["127.0.0.1"]], ids=["named"], indirect=True)
"""Allows calls to 127.0.0.1, so that the MCP server's metadata may name further addresses on this machine."""


@pytest.fixture(scope="module")
def guarded_url() -> Iterator[str]:
    with http_server("tests.support.mcp_oauth_server") as url:
        yield url


class Door:
    """The MCP server `guarded` in the settings, with helpers for its user and for a sandbox."""

    def __init__(self, app: App, client: httpx.AsyncClient, inner: httpx.AsyncClient, keys: Keys) -> None:
        self.app, self.client = app, client
        self._inner, self._keys = inner, keys

    async def begin(self) -> dict[str, str]:
        """Starts a sign-in and agrees at the MCP server. Returns the parameters that the browser brings back
        to the app server.
        """
        reply = await self.client.post(f"{ROUTE}/guarded/sign-in")
        assert reply.status_code == 200, reply.text
        async with httpx.AsyncClient(timeout=PATIENCE_SECONDS) as browser:
            there = await browser.get(reply.json()["authorization_url"])
        back = urlsplit(there.headers["location"])
        assert f"{back.scheme}://{back.netloc}{back.path}" == (
            "http://localhost:3000/settings/mcp-servers/callback"
        )
        return {name: values[0] for name, values in parse_qs(back.query).items()}

    async def connect(self) -> None:
        reply = await self.client.post(SIGN_INS, json=await self.begin())
        assert (reply.status_code, reply.json()) == (200, {"name": "guarded"})

    async def state(self) -> Any:
        return (await self.client.get(ROUTE)).json()["mcp_config"]["guarded"]["sign_in"]

    async def row(self) -> McpGrant:
        async with self.app.database.read() as session:
            return (await session.scalars(select(McpGrant))).one()

    async def grant(self) -> OAuthGrant:
        return OAuthGrant.model_validate_json(
            self.app.state["cipher"].decrypt((await self.row()).grant_encrypted)
        )

    async def tamper(self, **changes: Any) -> None:
        changed = (await self.grant()).model_copy(update=changes)
        server_id = (await self.row()).server_id
        async with self.app.database.session() as session:
            await save_grant(session, self.app.state["cipher"], server_id, changed)

    async def call(self) -> httpx.Response:
        """Starts an MCP session as a sandbox does. Returns the reply."""
        return await self._post(INITIALIZE)

    async def use(self, tool: str) -> httpx.Response:
        """Calls a tool of the MCP server as a sandbox does. Returns the reply."""
        session = {"Mcp-Session-Id": (await self.call()).headers["mcp-session-id"]}
        await self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
        params = {"name": tool, "arguments": {}}
        return await self._post(
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}, session
        )

    async def _post(self, message: dict[str, Any], headers: Mapping[str, str] = {}) -> httpx.Response:
        opened = {**self._keys.own, "Accept": "application/json, text/event-stream", **headers}
        return await self._inner.post("/mcp/guarded", json=message, headers=opened)


@pytest.fixture
async def door(
    app: App, client: httpx.AsyncClient, inner: httpx.AsyncClient, keys: Keys, guarded_url: str
) -> Door:
    reply = await client.post(f"{ROUTE}/guarded", json={"url": guarded_url, "auth": OAUTH})
    assert reply.status_code == 201
    assert reply.json()["sign_in"] == "none"
    return Door(app, client, inner, keys)


async def test_a_user_signs_in_and_the_tokens_stay_here(door: Door) -> None:
    assert_problem(await door.call(), 502, "mcp_sign_in_needed")
    assert_problem(await door.client.post(f"{ROUTE}/guarded/test"), 502, "mcp_sign_in_needed")

    await door.connect()

    assert await door.state() == "connected"
    grant, row = await door.grant(), await door.row()
    assert grant.refresh_token
    assert grant.access_token not in row.grant_encrypted
    report = (await door.client.post(f"{ROUTE}/guarded/test")).json()
    assert [tool["name"] for tool in report["tools"]] == ["whoami", "change"]
    answer = await door.call()
    assert answer.status_code == 200
    assert "behind a door" in answer.text
    shown = answer.text + str(answer.headers) + (await door.client.get(ROUTE)).text
    assert grant.access_token not in shown
    assert grant.refresh_token not in shown


async def test_an_answer_counts_once_and_only_from_the_user_who_began(door: Door) -> None:
    answer = await door.begin()
    async with door.app.database.session() as session:
        user = await create_user(session, name="Another", role=Role.MEMBER)
        _, key = await create_api_key(session, user, name="tests")
    async with http_client(door.app.public, headers={"Authorization": f"Bearer {key}"}) as other:
        assert_problem(await other.post(SIGN_INS, json=answer), 404, "mcp_sign_in_not_found")
    assert (await door.client.post(SIGN_INS, json=answer)).status_code == 200
    assert_problem(await door.client.post(SIGN_INS, json=answer), 404, "mcp_sign_in_not_found")
    unknown = await door.client.post(SIGN_INS, json={"state": "unknown", "code": "x"})
    assert_problem(unknown, 404, "mcp_sign_in_not_found")


async def test_a_refusal_and_a_wrong_code_say_so(door: Door) -> None:
    denied = {"state": (await door.begin())["state"], "error": "access_denied"}
    reply = await door.client.post(SIGN_INS, json=denied)
    assert_problem(reply, 400, "mcp_sign_in_refused")
    assert "access_denied" in reply.json()["detail"]
    wrong = {"state": (await door.begin())["state"], "code": "wrong"}
    assert_problem(await door.client.post(SIGN_INS, json=wrong), 502, "mcp_sign_in_failed")
    assert await door.state() == "none"


async def test_too_many_sign_ins_end_the_oldest(door: Door) -> None:
    answers = [await door.begin() for _ in range(MAX_SIGN_INS + 1)]
    replies = [await door.client.post(SIGN_INS, json=answer) for answer in answers]
    assert_problem(replies[0], 404, "mcp_sign_in_not_found")
    assert [reply.status_code for reply in replies[1:]] == [200] * MAX_SIGN_INS


async def test_an_expired_token_is_renewed_once_for_all_waiting_calls(door: Door, guarded_url: str) -> None:
    await door.connect()
    first, server_id = await door.grant(), (await door.row()).server_id
    await door.tamper(expires_at=1.0)
    # Two objects, as two app servers have them.
    state = door.app.state
    several = [Grants(door.app.database, state["cipher"]) for _ in range(2)]

    tokens = await asyncio.gather(
        *(several[n % 2].access_token(state["http"], server_id, "guarded", guarded_url) for n in range(8))
    )

    second = await door.grant()
    assert set(tokens) == {second.access_token}
    assert second.access_token != first.access_token
    assert second.refresh_token != first.refresh_token, "the server takes each only once"
    await door.tamper(expires_at=1.0)
    assert (await door.call()).status_code == 200
    assert await door.state() == "connected"


async def test_a_token_is_renewed_nowhere_that_a_member_may_not_call(door: Door, guarded_url: str) -> None:
    await door.connect()
    server_id = (await door.row()).server_id
    await door.tamper(expires_at=1.0)
    state = door.app.state
    grants: Grants = state["mcp_grants"]
    with pytest.raises(Forbidden, match="leads to a private address"):
        await grants.access_token(state["guarded_http"], server_id, "guarded", guarded_url)

    assert await grants.access_token(state["http"], server_id, "guarded", guarded_url)


async def test_a_token_that_is_not_taken_any_more_is_renewed_too(door: Door) -> None:
    await door.connect()
    await door.tamper(access_token="revoked-but-not-expired")
    assert (await door.call()).status_code == 200
    assert (await door.grant()).access_token != "revoked-but-not-expired"


@pytest.mark.parametrize("refresh_token", ["revoked", None])
async def test_a_sign_in_that_is_over_asks_to_connect_again(door: Door, refresh_token: str | None) -> None:
    await door.connect()
    await door.tamper(expires_at=1.0, refresh_token=refresh_token)
    reply = await door.call()
    assert_problem(reply, 502, "mcp_sign_in_needed")
    assert "Connect it again" in reply.json()["fix"]
    assert await door.state() == "expired"
    await door.connect()
    assert (await door.call()).status_code == 200


@ELSEWHERE
async def test_an_authorization_server_that_is_away_ends_nothing(door: Door) -> None:
    await door.connect()
    endpoint = (await door.grant()).token_endpoint
    away = f"http://127.0.0.1:{free_port()}/token"
    await door.tamper(expires_at=1.0, token_endpoint=away)
    assert_problem(await door.call(), 502, "mcp_sign_in_unreachable")
    assert await door.state() == "connected"
    await door.tamper(token_endpoint=endpoint)
    assert (await door.call()).status_code == 200


async def test_disconnecting_and_another_address_forget_the_tokens(door: Door, guarded_url: str) -> None:
    await door.connect()
    assert (await door.client.delete(f"{ROUTE}/guarded/sign-in")).status_code == 204
    assert await door.state() == "none"
    assert_problem(await door.call(), 502, "mcp_sign_in_needed")

    await door.connect()
    answer = await door.begin()
    await door.client.patch(f"{ROUTE}/guarded", json={"url": f"{guarded_url}?other"})
    assert await door.state() == "none"
    assert_problem(await door.client.post(SIGN_INS, json=answer), 404, "mcp_server_not_found")
    assert await door.state() == "none"


async def test_what_has_no_sign_in_says_so(client: httpx.AsyncClient) -> None:
    await client.post(f"{ROUTE}/plain", json={"url": "https://x.example.org"})
    assert_problem(await client.post(f"{ROUTE}/plain/sign-in"), 409, "mcp_sign_in_not_wanted")
    gone = {"url": f"http://127.0.0.1:{free_port()}/mcp", "auth": OAUTH}
    await client.post(f"{ROUTE}/gone", json=gone)
    assert_problem(await client.post(f"{ROUTE}/gone/sign-in"), 502, "mcp_sign_in_failed")
    with http_server("tests.support.mcp_server", "http") as url:
        await client.post(f"{ROUTE}/open", json={"url": url, "auth": OAUTH})
        assert_problem(await client.post(f"{ROUTE}/open/sign-in"), 400, "mcp_sign_in_not_wanted")


async def test_a_call_that_needs_more_permission_goes_on_once_it_is_given(door: Door) -> None:
    await door.connect()
    before = await door.grant()

    refused = await door.use("change")

    assert_problem(refused, 502, "mcp_scope_needed")
    assert "write" in refused.json()["detail"]
    shown = (await door.client.get(ROUTE)).json()["mcp_config"]["guarded"]
    assert (shown["sign_in"], shown["wanted_scope"]) == ("more_wanted", "write")
    assert "you are in" in (await door.use("whoami")).text
    assert (await door.grant()).access_token == before.access_token

    await door.connect()

    assert "changed" in (await door.use("change")).text
    assert (await door.state(), (await door.grant()).scope) == ("connected", "write")


@pytest.mark.parametrize(
    ("challenge", "scope"),
    [
        ('Bearer error="insufficient_scope", scope="files:read files:write"', "files:read files:write"),
        ("Bearer scope=write, error=insufficient_scope", "write"),
        ('Bearer error="insufficient_scope"', ""),
        ('Bearer error="invalid_token", scope="write"', None),
        ("", None),
    ],
)
def test_what_a_refusal_asks_for(challenge: str, scope: str | None) -> None:
    assert requested_scope(challenge) == scope


def test_more_for_one_call_is_not_less_for_another() -> None:
    assert union("a b", None, "b c") == "a b c"


@ELSEWHERE
async def test_a_token_endpoint_that_answers_without_end_renews_nothing(door: Door) -> None:
    async def endless(_: Request) -> Response:
        async def pieces() -> AsyncIterator[bytes]:
            while True:
                yield b" " * 1024
                await asyncio.sleep(0)  # the generator ends when the connection is closed

        return StreamingResponse(pieces(), media_type="application/json")

    await door.connect()
    async with listening(Starlette(routes=[Route("/token", endless, methods=["POST"])])) as url:
        await door.tamper(token_endpoint=f"{url}/token", expires_at=1.0)
        assert_problem(await door.call(), 502, "mcp_sign_in_unreachable")
    assert await door.state() == "connected"
