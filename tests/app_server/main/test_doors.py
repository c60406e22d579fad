"""Tests of access to every route of the app server's OpenAPI document: calls without a sign-in, with a
sandbox's key and by other users.
"""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import delete

from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.start.tasks import new_stages
from app_server.main import create_app, create_inner_app
from app_server.users.models import ApiKey, Role, User
from app_server.users.service import create_api_key, create_user
from app_server.users.tokens import token_hash
from tests.app_server.conftest import App, http_client
from tests.app_server.problems import assert_problem

OPEN = frozenset(
    (
        "GET /alive",
        "GET /health",
        "GET /ready",
        "GET /server_info",
        "GET /api/v1/web-client/config",
        "POST /api/v1/git-webhooks/{hook_id}",  # the git host signs the request
        "POST /api/v1/sign-in/link",
        "POST /api/v1/sign-in/password",
        "DELETE /api/v1/sign-in/session",
        "GET /api/v1/sign-in/providers",
        "GET /api/v1/sign-in/oidc/{name}",
        "GET /api/v1/sign-in/oidc/{name}/callback",
        "POST /api/v1/sign-in/oidc/{name}/logout",
        "GET /api/v1/sign-in/saml/{name}",
        "GET /api/v1/sign-in/saml/{name}/metadata",
        "POST /api/v1/sign-in/saml/{name}/acs",
        "GET /api/v1/sign-in/saml/{name}/slo",
        "POST /api/v1/sign-in/saml/{name}/slo",
        "GET /api/v1/sign-in/saml/{name}/complete",
        # A terminal requests a code, and gets a key after its user has confirmed the code: see
        # docs/accounts.md.
        "POST /oauth/device/authorize",
        "POST /oauth/device/token",
        "POST /oauth/revoke",
        # Needs the token of a read-only link: see docs/sharing.md.
        "GET /api/v1/linked-conversation",
    )
)
"""Routes that need no sign-in. Each must be safe for every person who can reach the port."""


ON_BOTH = frozenset(("/health", "/api/v1/sandboxes/{sandbox_id}/settings/secrets"))
"""Paths that both the public and the inner listener serve. The second one accepts the sandbox's own session
key at the inner listener, and only gateway keys (the keys that open a sandbox's ports for clients
outside) at the public listener.
"""

ADMINISTRATION = (
    "/api/v1/administration/",
    "/api/v1/people",
    "/api/v1/audit-log",
    "/api/v1/organisations",
)
"""Prefixes of the paths that members may not read."""


@pytest.fixture
def routes(app: App) -> list[tuple[str, str]]:
    """Returns (method, path) of each public route. The path has placeholders such as {conversation_id}."""
    described = create_app(app.config).openapi()["paths"]
    return [(method.upper(), path) for path, item in described.items() for method in item]


@pytest.fixture
async def conversation_id(app: App, owner: User) -> UUID:
    """Stores a conversation of the owner that is READY. Its sandbox has the session key "session-key".
    Returns the conversation's id.
    """
    ids = {"id": uuid4(), "user_id": owner.id}
    await app.state["start_worker"].close()
    async with app.database.session() as session:
        session.add(Conversation(**ids, llm_profile="demo", last_seq=0))
        session.add(StartTask(**ids, status=StartStatus.READY, request={}, stages=new_stages()))
        sandbox = await app.state["sandboxes"].create(session, sandbox_id=ids["id"], user_id=owner.id)
        sandbox.session_key_hash = token_hash("session-key")
    return ids["id"]


@pytest.fixture
async def member(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with app.database.session() as session:
        user = await create_user(session, name="Somebody", role=Role.MEMBER)
        _, key = await create_api_key(session, user, name="tests")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as client:
        yield client


async def test_every_route_but_the_open_ones_needs_a_sign_in(
    routes: list[tuple[str, str]], anonymous: httpx.AsyncClient, conversation_id: UUID
) -> None:
    names = {f"{method} {path}" for method, path in routes}
    assert names > OPEN, "a route that is listed as open does not exist"
    for method, path in closed(routes):
        for headers in ({}, {"Authorization": "Bearer session-key"}, {"X-Session-API-Key": "session-key"}):
            reply = await anonymous.request(method, filled(path, conversation_id), headers=headers, json={})
            wanted = "not_authenticated" if path not in ON_BOTH else _key_problem(headers)
            assert_problem(reply, 401, wanted)


def _key_problem(headers: Mapping[str, str]) -> str:
    """Returns the error code of a route that accepts only gateway keys, for a request with these headers."""
    return "session_key_invalid" if "X-Session-API-Key" in headers else "session_key_missing"


async def asked(client: httpx.AsyncClient, method: str, path: str) -> httpx.Response:
    """Sends BODY to the route. If the route refuses unknown fields, sends the request again without them.
    Returns the last reply.
    """
    reply = await client.request(method, path, json=BODY, params=QUERY)
    errors = reply.json()["errors"] if reply.status_code == 422 else []
    refused = {error["loc"][-1] for error in errors if error["type"] == "extra_forbidden"}
    if not refused:
        return reply
    body = {name: value for name, value in BODY.items() if name not in refused}
    return await client.request(method, path, json=body, params=QUERY)


AT_GIT_HOSTS = frozenset(
    (
        "/api/v1/users/git-info",
        "/api/v1/settings/commit-signing/hosts/address",
        "/api/v1/git/installations/search",
        "/api/v1/git/repositories/search",
        "/api/v1/git/branches/search",
    )
)


async def test_a_foreign_conversation_is_in_no_list(
    routes: list[tuple[str, str]], member: httpx.AsyncClient, conversation_id: UUID
) -> None:
    lists = [
        path
        for method, path in routes
        if method == "GET" and "{" not in path
        if path not in open_paths() and not path.startswith(ADMINISTRATION)
        # These routes return answers of a git host, for the user's own token.
        if path not in AT_GIT_HOSTS
        # The stream does not end: see sharing/test_user_stream.py.
        if path != "/api/v1/users/me/stream"
    ]
    assert len(lists) > 5
    for path in lists:
        params = {
            "ids": conversation_id.hex,
            "id": conversation_id.hex,
            "sandbox_id__eq": conversation_id.hex,
            "model": "openai/any",
            "repository": "acme/any",
        }
        reply = await member.get(path, params=params)
        assert reply.status_code == 200, reply.text
        assert conversation_id.hex not in reply.text


async def test_administration_is_for_administrators(
    routes: list[tuple[str, str]], member: httpx.AsyncClient, conversation_id: UUID
) -> None:
    reserved = [(method, path) for method, path in routes if path.startswith(ADMINISTRATION)]
    assert reserved
    for method, path in reserved:
        reply = await member.request(method, filled(path, conversation_id), json=BODY)
        assert_problem(reply, 403, "permission_missing")


async def test_the_key_of_a_deleted_user_opens_nothing(
    app: App, anonymous: httpx.AsyncClient, member: httpx.AsyncClient
) -> None:
    me = (await member.get("/api/v1/users/me")).raise_for_status().json()
    async with app.database.session() as session:
        await session.execute(delete(ApiKey).where(ApiKey.user_id == UUID(me["id"])))
        await session.execute(delete(User).where(User.id == UUID(me["id"])))
    assert_problem(await member.get("/api/v1/users/me"), 401, "not_authenticated")


async def test_the_inner_listener_has_no_route_of_the_public_one(
    routes: list[tuple[str, str]], inner: httpx.AsyncClient, conversation_id: UUID
) -> None:
    inner.headers["X-Session-API-Key"] = "session-key"
    for method, path in routes:
        if path not in ON_BOTH:
            assert_problem(await inner.request(method, filled(path, conversation_id)), 404, "not_found")


async def test_a_session_key_opens_the_inner_routes_and_only_for_its_own_conversation(
    app: App, client: httpx.AsyncClient, inner: httpx.AsyncClient, conversation_id: UUID
) -> None:
    described = create_inner_app(app.config).openapi()["paths"]
    opened = [(method, path) for path in described if path != "/health" for method in described[path]]
    assert opened
    for method, path in opened:
        for headers in (
            {},
            {"X-Session-API-Key": "wrong"},
            {"Authorization": client.headers["Authorization"]},
        ):
            reply = await inner.request(method, filled(path, conversation_id), headers=headers, json={})
            if path.startswith("/git/{"):
                # git gets the error in its own protocol: after a 401 it would ask for a password.
                assert reply.status_code == 403 or b"key of this sandbox is wrong" in reply.content
            elif path.startswith("/programs/v1/messages"):
                # Programs with Anthropic's protocol get errors in another format.
                assert (reply.status_code, reply.json()["error"]["code"]) == (401, "not_authenticated")
            else:
                assert_problem(reply, 401, "not_authenticated")
    key = {"X-Session-API-Key": "session-key"}
    for method, path in opened:
        if "{sandbox_id}" in path or "{conversation_id}" in path:
            reply = await inner.request(method, filled(path, uuid4()), headers=key, json={"frames": []})
            assert reply.status_code == 404, path
    for target, status in ((conversation_id, 200), (uuid4(), 404)):
        reply = await inner.post(f"/api/v1/webhooks/events/{target}", headers=key, json={"frames": []})
        assert reply.status_code == status


BODY = {
    "accept": True,
    "action_ids": ["one"],
    "mode": "never",
    "profile_name": "x",
    "content": [{"type": "text", "text": "x"}],
    "title": "x",
    "command": "id",
    "max_budget_per_task": 1,
    "objective": "x",
    "files": True,
    "hash": "a" * 64,
    "port": 8001,
    "host": "example.org",
    "answer": "conversation",
    "access": "view",
    "everyone": "view",
}
"""A request body with valid values for the fields of every route about one conversation."""

QUERY = {"path": "x", "id": "x", "query": "x"}


def closed(routes: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    return ((method, path) for method, path in routes if f"{method} {path}" not in OPEN)


def open_paths() -> set[str]:
    return {name.partition(" ")[2] for name in OPEN}


def filled(path: str, conversation_id: UUID) -> str:
    # The name of an environment variable cannot begin with a digit.
    path = path.replace("{checkpoint_id}", "1").replace("{name}", f"n{conversation_id.hex}")
    return re.sub(r"\{\w+\}", conversation_id.hex, path)
