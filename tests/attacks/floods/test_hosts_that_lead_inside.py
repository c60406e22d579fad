"""Tests of hosts that an administrator has configured and that refer the app server to other private
addresses: by a redirect, as the address of a file, or in a document. In each test, a private server must get
no request.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app_server.core.config import Config
from app_server.core.errors import AppError, Forbidden, StartFailure
from app_server.core.identity_providers import IdentityProvider
from app_server.git.address import parse_address
from app_server.git.command import Credentials
from app_server.git.pinned_git import guard_for
from app_server.git.repository_bundle import PackedRepository, pack
from app_server.git_hosts.connection import HostConnection
from app_server.git_hosts.rate_limits import RateLimits
from app_server.mcp_servers.grants import OAuthGrant, save_grant
from app_server.mcp_servers.models import McpGrant
from app_server.mcp_servers.service import get_server
from app_server.sign_in.oidc.attempts import Attempt
from app_server.sign_in.oidc.discovery import Providers
from app_server.sign_in.oidc.exchange import claims_for_code
from app_server.users.models import User
from tests.app_server.conftest import App, listening
from tests.app_server.git_proxy.conftest import CANARY, KEY, Sandbox
from tests.app_server.problems import assert_problem
from tests.support.git_host import GitHost
from tests.support.patience import PATIENCE_SECONDS

CONTENT = b"a large file\n"
OID = hashlib.sha256(CONTENT).hexdigest()
METADATA_SERVICE = "http://169.254.169.254/latest/meta-data"


@pytest.fixture
def neighbour(tmp_path: Path) -> Iterator[GitHost]:
    """Yields another server on this machine, in the position of the app server's inner listener. It must get
    no request.
    """
    with GitHost(tmp_path / "neighbour") as neighbour:
        neighbour.make("team/harbour")
        neighbour.large_files[OID] = CONTENT
        yield neighbour


@pytest.mark.parametrize("way", ["redirect", "address"])
async def test_large_files_are_not_fetched_from_a_neighbour(
    sandbox: Sandbox, host: GitHost, neighbour: GitHost, way: str
) -> None:
    host.large_files[OID] = CONTENT
    if way == "redirect":
        host.redirects["/large/"] = f"{neighbour.origin}/large/"
    else:
        host.store = neighbour.origin
    headers = {"X-Session-API-Key": KEY}
    async with httpx.AsyncClient(base_url=f"{sandbox.url()}/info/lfs/", headers=headers) as git_lfs:
        question = {"operation": "download", "objects": [{"oid": OID, "size": len(CONTENT)}]}
        found = (await git_lfs.post("objects/batch", json=question)).json()["objects"][0]
        reply = await git_lfs.get(found["actions"]["download"]["href"])
    assert "leads to a private address" in reply.text
    assert not neighbour.requests


@pytest.mark.parametrize("target", [None, METADATA_SERVICE])
async def test_a_git_host_that_redirects_is_not_followed_to_a_neighbour(
    app: App, host: GitHost, neighbour: GitHost, target: str | None
) -> None:
    host.redirects = {"/api/": target or f"{neighbour.origin}/", "/old/": f"{host.origin}/team/harbour.git/"}
    client = app.state["http"]
    its = HostConnection("git.example", host.origin, {}, client, RateLimits(), lambda _said: "")
    with pytest.raises(Forbidden, match="leads to a private address"):
        await its.get("/api/projects")
    assert not neighbour.requests
    host.tokens.clear()
    reply = await its.get("/old/HEAD", accept="text/plain")
    assert reply.content == b"ref: refs/heads/main\n"


async def cloned(url: str, scratch: Path, config: Config, host: GitHost) -> PackedRepository:
    await asyncio.to_thread(scratch.mkdir)
    return await pack(
        parse_address(url),
        None,
        directory=scratch,
        timeout_seconds=PATIENCE_SECONDS,
        report=lambda _line: None,
        credentials=Credentials(host.origin, "git", CANARY),
        guard=guard_for(config, administers=True),
    )


async def test_a_repository_that_redirects_is_not_cloned_from_a_neighbour(
    host: GitHost, neighbour: GitHost, config: Config, tmp_path: Path
) -> None:
    host.redirects["/team/"] = f"{neighbour.origin}/team/"
    with pytest.raises(StartFailure, match="redirects to another address"):
        await cloned(host.url("team/harbour"), tmp_path / "scratch", config, host)
    assert not neighbour.requests


async def test_a_renamed_repository_of_the_same_host_is_cloned(
    host: GitHost, config: Config, tmp_path: Path
) -> None:
    host.redirects["/old/harbour/"] = "/team/harbour.git/"
    packed = await cloned(f"{host.origin}/old/harbour", tmp_path / "scratch", config, host)
    assert packed.branch == "main"


class Provider:
    """An OpenID provider. Its configuration document contains the endpoints that a test sets."""

    def __init__(self) -> None:
        self.issuer = ""
        self.endpoints: dict[str, str] = {}
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._document),
                Route("/keys", self._moved),
            ]
        )

    async def _document(self, _request: Request) -> JSONResponse:
        own = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        return JSONResponse(
            {"issuer": self.issuer, **dict.fromkeys(own, f"{self.issuer}/keys"), **self.endpoints}
        )

    async def _moved(self, _request: Request) -> Response:
        return Response(status_code=302, headers={"location": METADATA_SERVICE})


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    provider = Provider()
    async with listening(provider.app) as provider.issuer:
        yield provider


@pytest.mark.parametrize("named", ["jwks_uri", "userinfo_endpoint", "token_endpoint", "redirect"])
async def test_a_sign_in_provider_names_no_neighbour(
    app: App, provider: Provider, neighbour: GitHost, tmp_path: Path, named: str
) -> None:
    if named != "redirect":
        provider.endpoints = {named: f"{neighbour.origin}/team/harbour.git/config"}
    secret = tmp_path / "secret"
    secret.write_text("canary")
    told = IdentityProvider(
        name="acme", title="Acme", issuer=provider.issuer, client_id="slipway", client_secret_file=secret
    )
    providers = Providers([told], app.state["http"], app.state["guard"])
    config = app.config.model_copy(update={"oidc_providers": [told]})
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "token_endpoint": lambda: claims_for_code(config, providers, told, Attempt.begin("acme"), "code"),
        "userinfo_endpoint": lambda: providers.userinfo(told, "token"),
    }
    with pytest.raises(AppError) as failure:
        await calls.get(named, lambda: providers.keys(told))()
    assert failure.value.code == "oidc_provider_unreachable"
    assert not neighbour.requests


async def test_an_mcp_server_names_no_neighbour_for_its_sign_in(
    app: App, client: httpx.AsyncClient, owner: User, neighbour: GitHost
) -> None:
    async def closed(_request: Request) -> Response:
        challenge = f'Bearer resource_metadata="{neighbour.origin}/metadata"'
        return Response(status_code=401, headers={"www-authenticate": challenge})

    async with listening(Starlette(routes=[Route("/mcp", closed, methods=["GET", "POST"])])) as origin:
        route = "/api/v1/settings/mcp/guarded"
        saved = await client.post(route, json={"url": f"{origin}/mcp", "auth": {"strategy": "oauth2"}})
        assert saved.status_code == 201
        assert_problem(await client.post(f"{route}/sign-in"), 403, "private_address")
        async with app.database.session() as session:
            server_id = (await get_server(session, owner.id, "guarded")).id
            await save_grant(session, app.state["cipher"], server_id, expired(f"{neighbour.origin}/token"))
        assert_problem(await client.post(f"{route}/test"), 403, "private_address")
    assert not neighbour.requests
    assert (await grant_row(app, server_id)).claimed_until is None


def expired(token_endpoint: str) -> OAuthGrant:
    return OAuthGrant(
        access_token="a",
        refresh_token="canary",
        expires_at=1.0,
        token_endpoint=token_endpoint,
        resource=None,
        client_id="c",
        client_secret=None,
        client_auth_method=None,
    )


async def grant_row(app: App, server_id: UUID) -> McpGrant:
    async with app.database.read() as session:
        return await session.get_one(McpGrant, server_id)
