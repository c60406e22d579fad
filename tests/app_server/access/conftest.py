"""Fixtures for the tests of access: two organisations in one installation, with two people each."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from uuid import UUID

import httpx
import pytest

from app_server.users.models import Role, User
from tests.app_server.conftest import App
from tests.app_server.sharing.test_sharing import person

ORGANISATIONS = "/api/v1/organisations"


@dataclass(frozen=True)
class Two:
    """Two organisations, with an HTTP client for each person. `client` (the owner) and `grace` belong to the
    default organisation. `olga` (an owner) and `max` belong to the organisation Acme.
    """

    app: App
    owner: User
    client: httpx.AsyncClient
    grace: httpx.AsyncClient
    olga: httpx.AsyncClient
    max: httpx.AsyncClient
    acme_id: UUID


@pytest.fixture
async def two(app: App, client: httpx.AsyncClient, owner: User) -> AsyncIterator[Two]:
    await app.state["start_worker"].close()
    made = await client.post(ORGANISATIONS, json={"name": "Acme"})
    assert made.status_code == 201, made.text
    acme_id = UUID(made.json()["id"])
    async with AsyncExitStack() as stack:

        async def new(name: str, role: Role, **where: UUID) -> httpx.AsyncClient:
            return await stack.enter_async_context(person(app, name, role, **where))

        yield Two(
            app,
            owner,
            client,
            grace=await new("Grace", Role.MEMBER),
            olga=await new("Olga", Role.OWNER, organisation_id=acme_id),
            max=await new("Max", Role.MEMBER, organisation_id=acme_id),
            acme_id=acme_id,
        )


def id_of(client: httpx.AsyncClient) -> str:
    return str(client.headers["X-Test-User"])


async def account(two: Two, client: httpx.AsyncClient) -> User:
    async with two.app.database.read() as session:
        return await session.get_one(User, UUID(id_of(client)))


async def names(client: httpx.AsyncClient, path: str, of: str = "name") -> list[str]:
    rows = (await client.get(path)).raise_for_status().json()
    return [row[of] for row in rows]


async def team(client: httpx.AsyncClient, name: str, *members: httpx.AsyncClient) -> str:
    made = (await client.post("/api/v1/teams", json={"name": name})).raise_for_status().json()
    for member in members:
        (await client.put(f"/api/v1/teams/{made['id']}/members/{id_of(member)}")).raise_for_status()
    return str(made["id"])
