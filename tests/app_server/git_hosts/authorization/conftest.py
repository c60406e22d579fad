"""Fixtures for the tests of sign-ins at git hosts: a git host with OAuth, and an app server where the host
is registered.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update

from app_server.audit.models import AuditEntry
from app_server.core.database import now
from app_server.git.models import GitCredential, GitGrant
from tests.app_server.conftest import App
from tests.support.oauth_host import CLIENT_ID, CLIENT_SECRET, OAuthHost

APPS = "/api/v1/administration/git-apps"
SIGN_INS = "/api/v1/settings/git-sign-ins"
CREDENTIALS = "/api/v1/settings/git-credentials"


@pytest.fixture
def host() -> Iterator[OAuthHost]:
    with OAuthHost() as host:
        yield host


@dataclass(frozen=True)
class Door:
    """A git host with OAuth, and the app server with an HTTP client of its owner."""

    app: App
    client: httpx.AsyncClient
    host: OAuthHost

    async def register(self, provider: str = "forgejo", **fields: Any) -> dict[str, Any]:
        body = {
            "host": self.host.origin, "provider": provider, "client_id": CLIENT_ID,
            "client_secret": CLIENT_SECRET, "sign_in_url": self.host.origin, **fields,
        }  # fmt: skip
        reply = await self.client.post(APPS, json=body)
        assert reply.status_code == 201, reply.text
        saved: dict[str, Any] = reply.json()
        return saved

    async def begin(self, app_id: str) -> dict[str, str]:
        """Starts a sign-in at the git host and agrees there. Returns the parameters that the browser brings
        back to the app server.
        """
        reply = await self.client.post(SIGN_INS, json={"app_id": app_id})
        assert reply.status_code == 200, reply.text
        return self.host.allow(reply.json()["authorization_url"])

    async def connect(self, provider: str = "forgejo", **fields: Any) -> dict[str, Any]:
        app = await self.register(provider, **fields)
        reply = await self.client.post(f"{SIGN_INS}/finish", json=await self.begin(app["id"]))
        assert reply.status_code == 200, reply.text
        credential: dict[str, Any] = reply.json()
        return credential

    async def who(self) -> httpx.Response:
        """Asks the git host, through the app server, which account the token belongs to. Returns the app
        server's reply.
        """
        return await self.client.get("/api/v1/users/git-info", params={"host": self.host.origin})

    async def grow_old(self, *, expired: bool = False) -> None:
        """Changes the stored times of all tokens, so that they must be renewed now. `expired`: the tokens
        have also expired.
        """
        before = now() - timedelta(seconds=1)
        values = {"renew_at": before} | ({"expires_at": before} if expired else {})
        async with self.app.database.session() as session:
            await session.execute(update(GitGrant).values(values))

    async def credential(self) -> dict[str, Any]:
        (found,) = (await self.client.get(CREDENTIALS)).json()
        assert isinstance(found, dict)
        return found

    async def token(self) -> str:
        async with self.app.database.read() as session:
            row = await session.scalar(select(GitCredential))
        assert row is not None
        token: str = self.app.state["cipher"].decrypt(row.token_encrypted)
        return token

    async def audited(self) -> list[str]:
        async with self.app.database.read() as session:
            found = await session.scalars(select(AuditEntry).order_by(AuditEntry.id))
        return [entry.action for entry in found if entry.action.startswith("git")]


@pytest.fixture
def door(app: App, client: httpx.AsyncClient, host: OAuthHost) -> Door:
    return Door(app, client, host)
