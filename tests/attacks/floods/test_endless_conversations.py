"""Tests of a conversation whose log does not end, and of a user who opens more and more streams."""

import asyncio
import json
from typing import Any
from uuid import uuid4

import httpx
import pytest
import websockets

from app_server.conversations.log import full_log
from app_server.conversations.models import Conversation
from app_server.events.open_streams import OpenStreams
from app_server.users.models import User
from app_server.users.service import create_api_key
from tests.app_server.conftest import App, http_client
from tests.app_server.egress.conftest import KEY, a_sandbox
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem
from tests.attacks.floods.conftest import served
from tests.support.patience import PATIENCE_SECONDS


def report(first: int, last: int, size: int = 1) -> dict[str, Any]:
    return {
        "frames": [
            {
                "type": "durable",
                "seq": seq,
                "event": {
                    "id": f"event-{seq}",
                    "timestamp": "2026-11-20T20:55:11.603891",
                    "source": "agent",
                    "kind": "PauseEvent",
                    "text": "x" * size,
                },
            }
            for seq in range(first, last + 1)
        ]
    }


async def test_a_log_takes_a_bounded_number_of_events(
    app: App, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full_log, "MAX_EVENTS", 5)
    path = f"/api/v1/webhooks/events/{await a_sandbox(app, owner)}"
    async with http_client(app.inner, headers={"X-Session-API-Key": KEY}) as sandbox:
        assert (await sandbox.post(path, json=report(1, 4))).json() == {"acknowledged_seq": 4}
        assert_problem(await sandbox.post(path, json=report(5, 6)), 410, "log_full")
        for repeated in (report(5, 5), {"frames": []}):
            assert_problem(await sandbox.post(path, json=repeated), 410, "log_full")


async def test_a_log_takes_a_bounded_number_of_characters(
    app: App, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full_log, "MAX_LOG_CHARACTERS", 10_000)
    path = f"/api/v1/webhooks/events/{await a_sandbox(app, owner)}"
    async with http_client(app.inner, headers={"X-Session-API-Key": KEY}) as sandbox:
        for _ in range(2):  # a repeated report counts only once
            assert (await sandbox.post(path, json=report(1, 1, 6000))).status_code == 200
        assert_problem(await sandbox.post(path, json=report(2, 2, 6000)), 410, "log_full")


async def test_a_full_log_ends_with_the_reason(
    app: App, owner: User, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full_log, "MAX_EVENTS", 5)
    conversation = await a_sandbox(app, owner)
    url = "/api/v1/app-conversations"
    async with http_client(app.inner, headers={"X-Session-API-Key": KEY}) as sandbox:
        await sandbox.post(f"/api/v1/webhooks/events/{conversation}", json=report(1, 4))
        for _ in range(2):
            await sandbox.post(f"/api/v1/webhooks/events/{conversation}", json=report(5, 9))
    async with app.database.read() as session:
        row = await session.get(Conversation, conversation)
    events = (await client.get(f"/api/v1/conversation/{conversation}/events/search")).json()["items"]
    message = {"role": "user", "content": [{"type": "text", "text": "Go on."}]}
    said = await client.post(f"{url}/{conversation}/send-message", json=message)

    assert row is not None
    assert row.execution_status == "error"
    assert [event["kind"] for event in events[4:]] == [
        "ConversationErrorEvent",
        "ConversationStateUpdateEvent",
    ]
    assert (events[4]["code"], "is full" in events[4]["detail"]) == ("log_full", True)
    assert_problem(said, 410, "log_full")


async def test_a_user_follows_a_bounded_number_of_streams(app: App, owner: User) -> None:
    conversation = await a_sandbox(app, owner)
    app.state["open_streams"] = OpenStreams(limit=2)
    async with app.database.session() as session:
        _, key = await create_api_key(session, owner, name="tests")
    async with served(app.public) as port, asyncio.timeout(PATIENCE_SECONDS):
        address = f"ws://127.0.0.1:{port}/api/v1/conversation/{conversation}/events/stream"

        def stream() -> Any:
            return websockets.connect(address, additional_headers={"Authorization": f"Bearer {key}"})

        async def is_followed(socket: Any) -> bool:
            return json.loads(await socket.recv())["type"] == "sync"

        async with stream() as first:
            async with stream() as second:
                assert await is_followed(first)
                assert await is_followed(second)
                async with stream() as third:
                    assert json.loads(await third.recv())["code"] == "too_many_streams"
                    with pytest.raises(websockets.ConnectionClosed):
                        await third.recv()
                    assert third.close_code == 1013

            async def there_is_room() -> bool:
                async with stream() as another:
                    return await is_followed(another)

            await eventually(there_is_room)


def test_streams_of_others_are_counted_for_themselves() -> None:
    class Socket:
        client_state = application_state = None

    streams, user, sockets = OpenStreams(limit=1), uuid4(), [Socket() for _ in range(3)]
    assert streams.admit(user, sockets[0])  # type: ignore[arg-type]
    assert not streams.admit(user, sockets[1])  # type: ignore[arg-type]
    assert streams.admit(uuid4(), sockets[2])  # type: ignore[arg-type]
