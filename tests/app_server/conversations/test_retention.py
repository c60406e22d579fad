"""Tests of retention: conversations without activity are archived or deleted by the rule of the
installation.
"""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import select

from app_server.audit.models import AuditEntry
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.retention.job import retainer
from app_server.core.database import now
from app_server.core.jobs.policy import JobAttempt
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.users.models import Role, User
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App

PATH = "/api/v1/administration/conversation-retention"
SEARCH = "/api/v1/app-conversations/search"


async def add(app: App, user_id: UUID, days: int, *, ready: bool = True, **fields: Any) -> UUID:
    """Stores a conversation whose last activity was `days` days ago. Returns its id.

    ready: False means that its start has not finished.
    """
    id_, moment = uuid4(), now() - timedelta(days=days)
    start = StartStatus.READY if ready else StartStatus.WORKING
    async with app.database.session() as session:
        session.add(
            Conversation(
                id=id_,
                user_id=user_id,
                llm_profile="demo",
                last_seq=0,
                created_at=moment,
                updated_at=moment,
                **fields,
            )
        )
        await session.flush()
        session.add(StartTask(id=id_, user_id=user_id, sandbox_id=id_, status=start, request={}, stages=[]))
    return id_


async def run(app: App) -> tuple[dict[str, Any] | None, list[str]]:
    """Runs the retention job once. Returns its result, and a list with "worker" for each time that it woke
    the start worker.
    """
    woken: list[str] = []
    state = app.state
    retain = retainer(app.database, state["pubsub"], state["sandboxes"], lambda: woken.append("worker"))
    return await retain(JobAttempt(uuid4(), "conversations.retain", {}, None, 1, True)), woken


async def listed(client: httpx.AsyncClient, **params: Any) -> set[str]:
    page = (await client.get(SEARCH, params={"include_sub_conversations": True, **params})).raise_for_status()
    return {item["id"] for item in page.json()["items"]}


@pytest.fixture(autouse=True)
async def _no_starts(app: App) -> None:
    await app.state["start_worker"].close()


async def test_old_conversations_are_archived_but_not_tagged_active_or_working_ones(
    app: App, client: httpx.AsyncClient, owner: User
) -> None:
    old = await add(app, owner.id, 40)
    await add(app, owner.id, 40, tags={"keep": ""})
    await add(app, owner.id, 40, tags={"team": "blue"})
    red = await add(app, owner.id, 40, tags={"team": "red"})
    await add(app, owner.id, 29)
    await add(app, owner.id, 40, ready=False)
    working = await add(app, owner.id, 40, execution_status="running")
    stopped = await add(app, owner.id, 40, execution_status="running")
    async with app.database.session() as session:
        session.add(
            Sandbox(
                id=working,
                user_id=owner.id,
                status=SandboxStatus.RUNNING,
                session_key_hash="0" * 64,
                encrypted_session_key="none",
                session_key_expires_at=now(),
                spec_id="process",
            )
        )
    rule = {"days": 30, "action": "archive", "kept_tags": ["keep", "team:blue"]}

    assert await run(app) == (None, []), "without a rule, nothing happens"
    preview = (await client.post(f"{PATH}/preview", json=rule)).raise_for_status().json()
    assert (await client.get(PATH)).json()["days"] is None
    assert (await client.put(PATH, json=rule)).raise_for_status().json() == rule
    assert (await client.get(PATH)).json() == rule
    result, woken = await run(app)

    expected = {old.hex, red.hex, stopped.hex}
    assert preview == {"count": 3}
    assert result == {"action": "archive", "conversations": 3}
    assert woken == []
    assert await listed(client, archived=True) == expected
    assert expected.isdisjoint(await listed(client, archived=False))
    assert await run(app) == ({"action": "archive", "conversations": 0}, [])
    async with app.database.read() as session:
        told = select(AuditEntry).where(AuditEntry.action.startswith("conversation"))
        entries = list(await session.scalars(told.order_by(AuditEntry.id)))
    assert [entry.action for entry in entries] == [
        "conversation_retention.changed",
        *["conversation.retired"] * 3,
    ]
    assert {entry.target_id for entry in entries[1:]} == expected
    assert entries[1].details == {"how": "archive", "days": 30, "owner": owner.id.hex}


async def test_a_parent_is_deleted_only_with_all_of_its_sub_conversations(
    app: App, client: httpx.AsyncClient, owner: User
) -> None:
    kept_parent = await add(app, owner.id, 90)
    kept_child = await add(app, owner.id, 80, parent_conversation_id=kept_parent)
    active = await add(app, owner.id, 1, parent_conversation_id=kept_child)
    old_parent = await add(app, owner.id, 90, archived_at=now())
    await add(app, owner.id, 80, parent_conversation_id=old_parent)
    async with app.database.session() as session:
        other = (await create_user(session, name="Other", role=Role.MEMBER)).id
    await add(app, other, 90)
    rule = {"days": 30, "action": "delete", "kept_tags": []}

    assert (await client.post(f"{PATH}/preview", json=rule)).json() == {"count": 3}
    (await client.put(PATH, json=rule)).raise_for_status()
    assert await run(app) == ({"action": "delete", "conversations": 3}, ["worker"])

    assert await listed(client) == {kept_parent.hex, kept_child.hex, active.hex}
    (await client.put(PATH, json={"days": None})).raise_for_status()
    assert await run(app) == (None, [])


async def test_only_administrators_set_the_rule_and_values_are_checked(
    app: App, client: httpx.AsyncClient
) -> None:
    for wrong in ({"days": 0}, {"days": 3651}, {"days": 1, "kept_tags": ["Not a tag"]}, {"dayz": 3}):
        assert (await client.put(PATH, json=wrong)).status_code == 422
    async with app.database.session() as session:
        member = await create_user(session, name="Member", role=Role.MEMBER)
        _, key = await create_api_key(session, member, name="tests")
    headers = {"Authorization": f"Bearer {key}"}
    for reply in (
        await client.get(PATH, headers=headers),
        await client.put(PATH, headers=headers, json={"days": 1}),
        await client.post(f"{PATH}/preview", headers=headers, json={"days": 1}),
    ):
        assert reply.status_code == 403


async def test_an_archived_conversation_comes_back_by_hand(
    app: App, client: httpx.AsyncClient, owner: User
) -> None:
    path = f"/api/v1/app-conversations/{(await add(app, owner.id, 0)).hex}"

    assert (await client.patch(path, json={"archived": True})).json()["archived"] is True
    assert await listed(client, archived=False) == set()
    assert (await client.get("/api/v1/app-conversations/count", params={"archived": True})).json() == 1
    assert (await client.patch(path, json={"title": "Still there"})).json()["archived"] is True
    assert (await client.patch(path, json={"archived": False})).json()["archived"] is False
    assert len(await listed(client, archived=False)) == 1
