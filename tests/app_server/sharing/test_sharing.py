"""Tests of shared conversations: what each person may do, and what ends when access is taken away."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
import websockets
from sqlalchemy import select

from app_server.audit.models import AuditEntry
from app_server.conversations.models import Conversation, PendingMessage, StartStatus, StartTask
from app_server.conversations.start.tasks import new_stages
from app_server.sign_in.identities.models import ExternalIdentity
from app_server.users.models import Role, User
from app_server.users.organisations import DEFAULT_ORGANISATION_ID
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client, listening
from tests.app_server.problems import assert_problem
from tests.app_server.streams import close_code

ROOT = "/api/v1/app-conversations"
MESSAGE = {"content": [{"type": "text", "text": "Hello"}]}


@pytest.fixture
async def conversation_id(app: App, owner: User) -> UUID:
    """Stores a conversation of the owner that is READY. Its sandbox does not run. Returns the conversation's
    id.
    """
    await app.state["start_worker"].close()
    return await new_conversation(app, owner)


@pytest.fixture
async def guest(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with person(app, "Grace") as client:
        yield client


async def new_conversation(app: App, owner: User, sandbox_id: UUID | None = None) -> UUID:
    ids = {"id": uuid4(), "user_id": owner.id}
    async with app.database.session() as session:
        place = {"sandbox_id": sandbox_id or ids["id"]}
        session.add(Conversation(**ids, **place, title="A title", llm_profile="demo", last_seq=0))
        session.add(StartTask(**ids, **place, status=StartStatus.READY, request={}, stages=new_stages()))
        if sandbox_id is None:
            await app.state["sandboxes"].create(session, sandbox_id=ids["id"], user_id=owner.id)
    return ids["id"]


@asynccontextmanager
async def person(
    app: App, name: str, role: Role = Role.MEMBER, organisation_id: UUID = DEFAULT_ORGANISATION_ID
) -> AsyncIterator[httpx.AsyncClient]:
    async with app.database.session() as session:
        user = await create_user(session, name=name, role=role, organisation_id=organisation_id)
        _, key = await create_api_key(session, user, name="tests")
    headers = {"Authorization": f"Bearer {key}"}
    async with http_client(app.public, headers=headers) as client:
        client.headers["X-Test-User"] = user.id.hex
        yield client


async def share(
    owner: httpx.AsyncClient, conversation_id: UUID, guest: httpx.AsyncClient, role: str
) -> httpx.Response:
    path = f"{ROOT}/{conversation_id}/sharing/people/{guest.headers['X-Test-User']}"
    return (await owner.put(path, json={"access": role})).raise_for_status()


async def unshare(owner: httpx.AsyncClient, conversation_id: UUID, guest: httpx.AsyncClient) -> None:
    path = f"{ROOT}/{conversation_id}/sharing/people/{guest.headers['X-Test-User']}"
    (await owner.delete(path)).raise_for_status()


async def tried(client: httpx.AsyncClient, method: str, path: str, conversation_id: UUID) -> httpx.Response:
    url = path.format(
        root=f"{ROOT}/{conversation_id}",
        events=f"/api/v1/conversation/{conversation_id}/events",
        pending=f"/api/v1/conversations/{conversation_id}/pending-messages",
    )
    return await client.request(method, url, json=MESSAGE if path.endswith("send-message") else None)


async def test_lists_and_counts_show_what_is_shared(
    app: App, client: httpx.AsyncClient, guest: httpx.AsyncClient, conversation_id: UUID
) -> None:
    async def counts(who: httpx.AsyncClient) -> list[int]:
        found = []
        for shared in ({}, {"shared": "true"}, {"shared": "false"}):
            page = (await who.get(f"{ROOT}/search", params=shared)).json()["items"]
            count = (await who.get(f"{ROOT}/count", params=shared)).json()
            assert len(page) == count
            found.append(count)
        return found

    async def choices(who: httpx.AsyncClient) -> dict[str, Any]:
        found: dict[str, Any] = (await who.get(f"{ROOT}/filter-choices")).raise_for_status().json()
        return found

    async with app.database.session() as session:
        conversation = await session.get_one(Conversation, conversation_id)
        conversation.llm_model, conversation.selected_branch = "demo/model", "main"
    assert await counts(guest) == [0, 0, 0]
    assert await counts(client) == [1, 0, 1]
    assert await choices(guest) == {"llm_models": [], "selected_branches": [], "owners": []}
    known = {"llm_models": ["demo/model"], "selected_branches": ["main"]}
    assert await choices(client) == {**known, "owners": []}
    await share(client, conversation_id, guest, "view")
    assert await counts(guest) == [1, 1, 0]
    assert await counts(client) == [1, 0, 1]
    (seen,) = (await guest.get(f"{ROOT}/search")).json()["items"]
    owner = {"id": seen["created_by_user_id"], "name": seen["owner_name"]}
    assert await choices(guest) == {**known, "owners": [owner]}
    for owner_id, count in ((seen["created_by_user_id"], 1), (guest.headers["X-Test-User"], 0)):
        found = await guest.get(f"{ROOT}/count", params={"created_by_user_id__eq": owner_id})
        assert found.json() == count


@pytest.mark.both_databases
async def test_tags_that_are_added_at_once_are_all_kept(
    app: App, client: httpx.AsyncClient, conversation_id: UUID
) -> None:
    async def add(key: str) -> None:
        body = {"ids": [conversation_id.hex], "action": "tag", "tags": {key: ""}}
        (await client.post(f"{ROOT}/batch", json=body)).raise_for_status()

    keys = [f"tag{number}" for number in range(8)]
    await asyncio.gather(*map(add, keys))
    async with app.database.read() as session:
        assert sorted((await session.get_one(Conversation, conversation_id)).tags) == keys


async def test_many_conversations_are_changed_at_once_each_with_its_result(
    app: App, owner: User, client: httpx.AsyncClient, guest: httpx.AsyncClient, conversation_id: UUID
) -> None:
    child, full = await new_conversation(app, owner), await new_conversation(app, owner)
    async with app.database.session() as session:
        (await session.get_one(Conversation, child)).parent_conversation_id = conversation_id
        (await session.get_one(Conversation, child)).tags = {"a": "old", "b": ""}
        (await session.get_one(Conversation, full)).tags = {f"tag{number}": "" for number in range(20)}
    await share(client, conversation_id, guest, "steer")

    async def changed(who: httpx.AsyncClient, *ids: UUID, **change: Any) -> list[dict[str, Any]]:
        reply = await who.post(f"{ROOT}/batch", json={"ids": [each.hex for each in ids], **change})
        results: list[dict[str, Any]] = reply.raise_for_status().json()["results"]
        return results

    unknown = uuid4()
    foreign = await changed(guest, conversation_id, unknown, action="delete")
    assert [(one["id"], one["problem"]["status"], one["problem"]["code"]) for one in foreign] == [
        (conversation_id.hex, 403, "conversation_access_missing"),
        (unknown.hex, 404, "not_found"),
    ]
    tagged = await changed(client, conversation_id, child, full, child, action="tag", tags={"a": "new"})
    assert [one["id"] for one in tagged] == [conversation_id.hex, child.hex, full.hex]
    assert tagged[0]["conversation"]["tags"] == {"a": "new"}
    assert tagged[1]["conversation"]["tags"] == {"a": "new", "b": ""}
    assert (tagged[2]["problem"]["code"], tagged[2]["conversation"]) == ("too_many_tags", None)
    for action, archived in (("archive", True), ("unarchive", False)):
        results = await changed(client, conversation_id, full, action=action)
        assert [one["conversation"]["archived"] for one in results] == [archived, archived]
    deleted = await changed(client, conversation_id, child, action="delete")
    assert [one["problem"] for one in deleted] == [None, None], "the child goes with its parent"
    assert (await client.get(f"{ROOT}/count", params={"include_sub_conversations": True})).json() == 1
    for wrong in (
        {"action": "tag"},
        {"action": "delete", "tags": {"a": ""}},
        {"action": "archive", "ids": []},
    ):
        reply = await client.post(f"{ROOT}/batch", json={"ids": [full.hex], **wrong})
        assert_problem(reply, 422, "validation_failed")
    reply = await client.post(f"{ROOT}/batch", json={"ids": [uuid4().hex] * 101, "action": "delete"})
    assert_problem(reply, 422, "validation_failed")


async def test_a_viewer_of_the_installation_does_not_steer(
    app: App, client: httpx.AsyncClient, conversation_id: UUID
) -> None:
    async with person(app, "Victor", Role.VIEWER) as viewer:
        await share(client, conversation_id, viewer, "steer")
        reply = await tried(viewer, "POST", "{root}/send-message", conversation_id)
        assert_problem(reply, 403, "permission_missing")


async def test_a_message_carries_the_name_of_the_guest_who_wrote_it(
    app: App, client: httpx.AsyncClient, guest: httpx.AsyncClient, conversation_id: UUID
) -> None:
    await share(client, conversation_id, guest, "steer")
    async with app.database.session() as session:
        task = await session.get_one(StartTask, conversation_id)
        task.status = StartStatus.WORKING
    for who in (client, guest):
        (await tried(who, "POST", "{root}/send-message", conversation_id)).raise_for_status()
    waiting = (await tried(client, "GET", "{pending}", conversation_id)).json()
    assert [one["sender"] for one in waiting] == [None, "Grace"]
    async with app.database.read() as session:
        rows = await session.scalars(select(PendingMessage).order_by(PendingMessage.position))
        assert [row.message.get("sender") for row in rows] == [None, "Grace"]


async def test_private_work_in_the_same_sandbox_is_out_of_reach(
    app: App, owner: User, client: httpx.AsyncClient, guest: httpx.AsyncClient, conversation_id: UUID
) -> None:
    neighbour = await new_conversation(app, owner, conversation_id)
    await share(client, conversation_id, guest, "steer")
    code = "sandbox_holds_private_work"
    for method, path in (
        ("GET", "{root}/git/changes"),
        ("GET", "{root}/git/pushes"),
        ("GET", "{root}/directory"),
        ("GET", "{root}/file"),
        ("GET", "{root}/file/download?path=README.md"),
        ("POST", "{root}/run"),
        ("POST", "{root}/send-message"),
    ):
        assert_problem(await tried(guest, method, path, conversation_id), 409, code)
    await share(client, neighbour, guest, "view")
    assert_problem(await tried(guest, "POST", "{root}/run", conversation_id), 409, code)
    assert (await tried(guest, "GET", "{root}/git/pushes", conversation_id)).status_code == 200


async def test_people_are_found_by_a_part_of_the_name_or_the_whole_address(
    app: App, client: httpx.AsyncClient, guest: httpx.AsyncClient, conversation_id: UUID
) -> None:
    grace = guest.headers["X-Test-User"]
    async with app.database.session() as session:
        session.add(
            ExternalIdentity(
                issuer="https://id.test", subject="1", user_id=UUID(grace), email="Grace@example.org"
            )
        )

    async def found(query: str) -> list[str]:
        path = f"{ROOT}/{conversation_id}/sharing/candidates"
        return [one["user_id"] for one in (await client.get(path, params={"query": query})).json()]

    assert await found("rac") == await found("grace@EXAMPLE.org") == [grace]
    assert await found("grace@example") == await found("Owner") == []


async def test_sharing_is_refused_with_a_reason(
    client: httpx.AsyncClient, owner: User, conversation_id: UUID
) -> None:
    people = f"{ROOT}/{conversation_id}/sharing/people"
    view = {"access": "view"}
    assert_problem(await client.put(f"{people}/{owner.id}", json=view), 400, "shared_with_owner")
    assert_problem(await client.put(f"{people}/{uuid4()}", json=view), 404, "person_not_found")
    assert_problem(await client.delete(f"{people}/{uuid4()}"), 404, "share_not_found")


async def test_sharing_is_in_the_audit_log(
    app: App, client: httpx.AsyncClient, guest: httpx.AsyncClient, conversation_id: UUID
) -> None:
    await share(client, conversation_id, guest, "view")
    await share(client, conversation_id, guest, "view")
    await share(client, conversation_id, guest, "steer")
    await unshare(client, conversation_id, guest)
    for role in ("view", None, None):
        await client.put(f"{ROOT}/{conversation_id}/sharing", json={"everyone": role})
    async with app.database.read() as session:
        rows = await session.scalars(
            select(AuditEntry).where(AuditEntry.target_id == conversation_id.hex).order_by(AuditEntry.id)
        )
        found = [(row.action, row.details.get("role")) for row in rows]
    assert found == [
        ("conversation.shared", "view"),
        ("conversation.shared", "steer"),
        ("conversation.unshared", None),
        ("conversation.shared", "view"),
        ("conversation.unshared", None),
    ]


async def test_a_stream_ends_when_access_is_taken_away(
    app: App, client: httpx.AsyncClient, guest: httpx.AsyncClient, conversation_id: UUID
) -> None:
    await share(client, conversation_id, guest, "view")
    async with listening(app.public) as url:
        stream = f"{url.replace('http', 'ws')}/api/v1/conversation/{conversation_id}/events/stream"

        def watch(who: httpx.AsyncClient) -> Any:
            return websockets.connect(
                stream, additional_headers={"Authorization": who.headers["Authorization"]}
            )

        async with watch(client) as own, watch(guest) as foreign:
            for socket in (own, foreign):
                assert json.loads(await socket.recv())["type"] == "sync"
            await unshare(client, conversation_id, guest)
            async with asyncio.timeout(2):
                assert await close_code(foreign) == 4004
            assert own.close_code is None
