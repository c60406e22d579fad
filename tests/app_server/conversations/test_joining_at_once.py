"""Tests of starts that begin at the same moment on two app servers with one database."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import delete, select

from app_server.conversations.models import Conversation
from app_server.core.config import Config
from app_server.lifespan import lifespan
from app_server.main import WithState
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.users.models import Role, User
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client
from tests.app_server.conversations.test_joining import ROOT, Sandboxes, choose
from tests.app_server.problems import assert_problem
from tests.support.apps import public_app

Clients = tuple[httpx.AsyncClient, httpx.AsyncClient]


@pytest.fixture
def config(config: Config) -> Config:
    return config.model_copy(update={"sandbox_max_conversations": 3})


@pytest.fixture
async def made(app: App, owner: User) -> Sandboxes:
    await app.state["start_worker"].close()
    return Sandboxes(app, owner)


@pytest.fixture
async def clients(app: App, made: Sandboxes, client: httpx.AsyncClient) -> AsyncIterator[Clients]:
    """Yields an HTTP client of the owner for each of two app servers. Neither server runs a worker, so no
    conversation starts up.
    """
    async with AsyncExitStack() as stack:
        state = await stack.enter_async_context(lifespan(app.config))
        await state.start_worker.close()
        public = WithState(public_app(app.config), vars(state))
        other = await stack.enter_async_context(http_client(public))
        other.headers["Authorization"] = client.headers["Authorization"]
        yield client, other


async def at_once(clients: Clients, number: int, **request: Any) -> list[httpx.Response]:
    """Sends `number` start requests at once, in turn to each of the two app servers. Returns the replies."""
    return await asyncio.gather(*(clients[each % 2].post(ROOT, json=dict(request)) for each in range(number)))


async def test_starts_at_once_fill_sandboxes_together(clients: Clients, app: App) -> None:
    await choose(clients[0], "ADD_TO_ANY")

    replies = await at_once(clients, 8)

    shared = Counter(reply.raise_for_status().json()["sandbox_id"] for reply in replies)
    assert sorted(shared.values()) == [2, 3, 3]
    async with app.database.read() as session:
        rows = await session.execute(select(Sandbox.id, Sandbox.status))
        assert {row.id.hex: row.status for row in rows} == dict.fromkeys(shared, SandboxStatus.STARTING)


@pytest.mark.parametrize("is_named", [True, False])
async def test_only_one_of_two_conversations_gets_the_last_place(
    clients: Clients, made: Sandboxes, is_named: bool
) -> None:
    sandbox_id = await made.make(conversations=2)
    await choose(clients[0], "ADD_TO_ANY")

    if is_named:
        replies = await at_once(clients, 6, sandbox_id=sandbox_id)
        refused = [reply for reply in replies if reply.status_code != 200]
        assert len(refused) == 5
        for reply in refused:
            assert_problem(reply, 409, "sandbox_full")
    else:
        replies = await at_once(clients, 3)
        assert [reply.json()["sandbox_id"] for reply in replies].count(sandbox_id) == 1

    count = await clients[0].get(f"{ROOT}/count", params={"sandbox_id__eq": sandbox_id})
    assert count.json() == 3


async def test_a_sandbox_that_is_deleted_at_the_same_moment_cannot_be_joined(
    clients: Clients, app: App, made: Sandboxes
) -> None:
    sandbox_id = await made.make()

    deleted, joined = await asyncio.gather(
        clients[0].delete(f"{ROOT}/{sandbox_id}"), clients[1].post(ROOT, json={"sandbox_id": sandbox_id})
    )

    assert deleted.status_code == 200
    async with app.database.read() as session:
        here = Conversation.sandbox_id == UUID(sandbox_id)
        left = (
            await session.scalars(select(Conversation.id).where(here, Conversation.deleted_at.is_(None)))
        ).all()
    if joined.status_code == 200:
        assert [each.hex for each in left] == [joined.json()["id"]]
    else:
        assert_problem(joined, 404, "sandbox_gone")
        assert left == []


async def test_the_id_of_a_sandbox_is_no_way_into_it(
    client: httpx.AsyncClient, app: App, made: Sandboxes
) -> None:
    sandbox_id = await made.make(conversations=2)
    async with app.database.session() as session:
        # The rows as the worker leaves them after the first of two conversations in the sandbox was deleted.
        await session.execute(delete(Conversation).where(Conversation.id == UUID(sandbox_id)))
        stranger: User = await create_user(session, name="Somebody", role=Role.MEMBER)
        _, key = await create_api_key(session, stranger, name="tests")

    own = await client.post(ROOT, json={"conversation_id": sandbox_id})
    foreign = await client.post(
        ROOT, json={"conversation_id": sandbox_id}, headers={"Authorization": f"Bearer {key}"}
    )

    for reply in (own, foreign):
        assert_problem(reply, 409, "conversation_id_taken")
