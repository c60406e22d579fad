"""Tests of the live stream of one user: what it shows, what it never shows, and when it ends."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import httpx
import pytest
import websockets
from sqlalchemy import update

from app_server.conversations.log.ingest import ingest
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.view import Viewer
from app_server.core.pubsub import LOOK
from app_server.events.schemas import EventsReport
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.users.models import User
from tests.app_server.access.test_people import PEOPLE, cookie_of, invite, signed_in
from tests.app_server.conftest import App, listening
from tests.app_server.sharing.test_sharing import ROOT, new_conversation, person, share, unshare
from tests.app_server.streams import close_code
from tests.support.patience import PATIENCE_SECONDS
from tests.support.plain_http import NO_TLS
from tests.support.signed_in import PROOF_HEADER

STREAM = "/api/v1/users/me/stream"

SOON_SECONDS = 20.0
"""How soon a stream must end. The documented time is two seconds; a busy test machine gets ten times as
much.
"""


@pytest.fixture
async def url(app: App) -> AsyncIterator[str]:
    await app.state["start_worker"].close()
    async with listening(app.public) as url:
        yield url


@asynccontextmanager
async def following(url: str, client: httpx.AsyncClient) -> AsyncIterator[tuple[Any, dict[str, Any]]]:
    """Opens the stream of this client's user over a WebSocket. Yields the WebSocket and its first frame."""
    headers = {"Authorization": client.headers["Authorization"], "Origin": url}
    async with websockets.connect(url.replace("http", "ws") + STREAM, additional_headers=headers) as socket:
        yield socket, await read(socket, "snapshot")


async def read(socket: Any, type_: str) -> dict[str, Any]:
    """Reads frames until one has this type. Returns this frame."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            frame: dict[str, Any] = json.loads(await socket.recv())
            if frame["type"] == type_:
                return frame


async def report(app: App, conversation_id: UUID, seq: int, key: str, value: Any) -> None:
    event = {
        "id": f"event-{seq}",
        "timestamp": "2026-11-20T20:55:11.603891",
        "source": "environment",
        "kind": "ConversationStateUpdateEvent",
        "key": key,
        "value": value,
    }
    frames = [{"type": "durable", "seq": seq, "event": event}]
    await ingest(
        app.database,
        app.state["pubsub"],
        Viewer(app.state["sandboxes"]),
        conversation_id,
        conversation_id,
        EventsReport.model_validate({"frames": frames}),
    )


@pytest.mark.both_databases
async def test_a_snapshot_then_titles_statuses_starts_spending_and_removals(
    app: App, client: httpx.AsyncClient, owner: User, url: str
) -> None:
    known = await new_conversation(app, owner)
    async with following(url, client) as (socket, snapshot):
        assert [each["id"] for each in snapshot["conversations"]] == [known.hex]
        assert snapshot["conversations"][0]["access"] == "own"
        assert snapshot["start_tasks"] == []
        assert snapshot["spending"]["limit"] is None

        (await client.patch(f"{ROOT}/{known}", json={"title": "Another"})).raise_for_status()
        assert (await read(socket, "conversation"))["conversation"]["title"] == "Another"

        await report(app, known, 1, "goal", {"status": "running", "objective": "Build it"})
        assert (await read(socket, "conversation"))["conversation"]["goal"]["objective"] == "Build it"

        made = (await client.post(ROOT, json={})).json()["id"]
        assert (await read(socket, "start_task"))["task"]["id"] == made
        assert (await read(socket, "conversation"))["conversation"]["id"] == made

        (await client.put("/api/v1/settings/spending-limit", json={"limit": 3.0})).raise_for_status()
        assert (await read(socket, "spending"))["spending"]["limit"] == 3.0

        (await client.delete(f"{ROOT}/{known}")).raise_for_status()
        assert (await read(socket, "removed"))["conversation_id"] == known.hex
    async with following(url, client) as (_, snapshot):
        assert [each["id"] for each in snapshot["conversations"]] == [made]
        assert [task["id"] for task in snapshot["start_tasks"]] == [made]
        assert snapshot["spending"]["limit"] == 3.0


async def test_waiting_for_the_user_is_told_and_ends(
    app: App, client: httpx.AsyncClient, owner: User, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = await new_conversation(app, owner)
    for _ in range(51):
        await new_conversation(app, owner)
    monkeypatch.setattr(app.state["sandboxes"], "client", lambda _id: object())
    async with app.database.session() as session:
        await session.execute(update(Sandbox).values(status=SandboxStatus.RUNNING))
    await report(app, waiting, 1, "execution_status", "waiting_for_confirmation")
    async with following(url, client) as (socket, snapshot):
        needing = [each["id"] for each in snapshot["conversations"] if each["needs_you"] == "approval"]
        assert needing == [waiting.hex]  # the snapshot has this conversation, although 51 others are newer
        await report(app, waiting, 2, "execution_status", "running")
        assert (await read(socket, "conversation"))["conversation"]["needs_you"] is None
        await report(app, waiting, 3, "agent_state", {"mcp_questions": [{"id": "one"}]})
        assert (await read(socket, "conversation"))["conversation"]["needs_you"] == "answer"
        await report(app, waiting, 4, "agent_state", {"mcp_questions": []})
        assert (await read(socket, "conversation"))["conversation"]["needs_you"] is None


async def test_only_what_is_shared_reaches_others_and_it_leaves_with_the_access(
    app: App, client: httpx.AsyncClient, owner: User, url: str
) -> None:
    private, shared = await new_conversation(app, owner), await new_conversation(app, owner)
    async with person(app, "Grace") as guest, following(url, guest) as (socket, snapshot):
        assert snapshot["conversations"] == snapshot["start_tasks"] == []
        await client.patch(f"{ROOT}/{private}", json={"title": "Of the owner alone"})
        await share(client, shared, guest, "view")
        seen = (await read(socket, "conversation"))["conversation"]
        assert (seen["id"], seen["access"], seen["owner_name"]) == (shared.hex, "view", owner.name)
        await unshare(client, shared, guest)
        assert (await read(socket, "removed"))["conversation_id"] == shared.hex

        everyone = f"{ROOT}/{shared}/sharing"
        (await client.put(everyone, json={"everyone": "steer"})).raise_for_status()
        assert (await read(socket, "conversation"))["conversation"]["access"] == "steer"
        (await client.put(everyone, json={"everyone": None})).raise_for_status()
        assert (await read(socket, "removed"))["conversation_id"] == shared.hex
        await client.patch(f"{ROOT}/{shared}", json={"title": "Of the owner again"})
        await client.delete(f"{ROOT}/{private}")
        own = await new_conversation_of(app, UUID(guest.headers["X-Test-User"]))
        app.state["pubsub"].publish(UUID(guest.headers["X-Test-User"]), [LOOK])
        frame = json.loads(await socket.recv())
        assert frame["conversation"]["id"] == own.hex, "nothing about the others came in between"


async def new_conversation_of(app: App, user_id: UUID) -> UUID:
    async with app.database.read() as session:
        user = await session.get_one(User, user_id)
    return await new_conversation(app, user)


async def test_lost_messages_are_made_up_for(
    app: App, client: httpx.AsyncClient, owner: User, url: str
) -> None:
    changed, deleted = await new_conversation(app, owner), await new_conversation(app, owner)
    async with following(url, client) as (socket, _):
        async with app.database.session() as session:
            (await session.get_one(Conversation, changed)).title = "Changed at another server"
            (await session.get_one(StartTask, changed)).status = StartStatus.WORKING
            gone = await session.get_one(Conversation, deleted)
            gone.deleted_at = gone.created_at
        app.state["pubsub"].publish(owner.id, [LOOK])
        assert (await read(socket, "start_task"))["task"]["status"] == "WORKING"
        frame = await read(socket, "conversation")
        assert frame["conversation"]["title"] == "Changed at another server"
        assert (await read(socket, "removed"))["conversation_id"] == deleted.hex


async def test_the_same_as_server_sent_events_until_the_key_ends(
    app: App, client: httpx.AsyncClient, owner: User, url: str
) -> None:
    made = (await client.post("/api/v1/api-keys", json={"name": "second"})).json()
    headers = {"Authorization": f"Bearer {made['key']}"}
    async with (
        httpx.AsyncClient(verify=NO_TLS, timeout=PATIENCE_SECONDS) as program,
        program.stream("GET", url + STREAM, headers=headers) as reply,
    ):
        assert reply.headers["content-type"].startswith("text/event-stream")
        events = (json.loads(line[6:]) async for line in reply.aiter_lines() if line.startswith("data: "))
        assert (await anext(events))["type"] == "snapshot"
        await client.patch(f"{ROOT}/{await new_conversation(app, owner)}", json={"title": "By SSE"})
        assert (await anext(events))["conversation"]["title"] == "By SSE"
        (await client.delete(f"/api/v1/api-keys/{made['id']}")).raise_for_status()
        assert (await anext(events))["code"] == "not_authenticated"
        assert [event async for event in events] == []


async def test_open_streams_end_soon_after_a_key_a_browser_or_an_account_has_ended(
    app: App, client: httpx.AsyncClient, url: str
) -> None:
    made = (await client.post("/api/v1/api-keys", json={"name": "second"})).json()
    key = {"Authorization": f"Bearer {made['key']}"}
    leaving, banned = await invite(client, "Ada"), await invite(client, "Bo")
    account = f"{PEOPLE}/{banned['person']['id']}"
    async with (
        signed_in(app, leaving["sign_in_link"]) as ada,
        signed_in(app, banned["sign_in_link"]) as bo,
        asyncio.TaskGroup() as group,
    ):
        for headers, end in (
            (key, client.delete(f"/api/v1/api-keys/{made['id']}")),
            (of_browser(ada), ada.delete("/api/v1/sign-in/session")),
            (of_browser(bo), client.patch(account, json={"is_disabled": True})),
        ):
            group.create_task(require_soon(url, headers, end))

    async with websockets.connect(url.replace("http", "ws") + STREAM) as socket:
        assert await close_code(socket) == 4001


def of_browser(browser: httpx.AsyncClient) -> dict[str, str]:
    return {"Cookie": cookie_of(browser), PROOF_HEADER: browser.headers[PROOF_HEADER]}


async def require_soon(url: str, headers: dict[str, str], end: Awaitable[httpx.Response]) -> None:
    """Opens a WebSocket and a stream of server-sent events with these headers. Awaits the request `end`, and
    requires that both streams end within SOON_SECONDS.
    """
    proof = headers.get(PROOF_HEADER)
    offered: Any = ["slipway", f"slipway.proof.{proof}"] if proof else None
    given = {"Origin": url, **headers}
    async with (
        websockets.connect(
            url.replace("http", "ws") + STREAM, additional_headers=given, subprotocols=offered
        ) as socket,
        httpx.AsyncClient(verify=NO_TLS, timeout=PATIENCE_SECONDS) as program,
        program.stream("GET", url + STREAM, headers=given) as reply,
    ):
        await read(socket, "snapshot")
        events = (json.loads(line[6:]) async for line in reply.aiter_lines() if line.startswith("data: "))
        assert (await anext(events))["type"] == "snapshot"
        (await end).raise_for_status()
        began = time.monotonic()
        assert await close_code(socket) == 4001
        assert [event["code"] async for event in events if event["type"] == "error"] == ["not_authenticated"]
        assert time.monotonic() - began < SOON_SECONDS
