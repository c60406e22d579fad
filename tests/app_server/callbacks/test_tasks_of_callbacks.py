"""Tests of callbacks that start a new conversation after an event in another conversation."""

from typing import Any
from uuid import UUID

import httpx
import pytest

from app_server import lifespan
from app_server.callbacks.models import Callback
from app_server.conversations.models import Conversation, StartTask
from app_server.users.models import User
from tests.app_server.callbacks.test_telling_people import FINISHED
from tests.app_server.callbacks.test_webhooks_out import PATH, QUICK, conversation_of, reaches, report
from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem

WANTED = {"name": "Review", "processor": "task", "instructions": "Review it.", "statuses": ["finished"]}


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifespan, "DELIVERY_POLICY", QUICK)


async def added(client: httpx.AsyncClient) -> dict[str, Any]:
    callback: dict[str, Any] = (await client.post(PATH, json=WANTED)).raise_for_status().json()
    return callback


async def test_a_task_is_started_once_and_starts_no_further_task(
    app: App, client: httpx.AsyncClient, owner: User
) -> None:
    conversation_id = await conversation_of(app, owner)
    callback = await added(client)
    assert callback["instructions"] == "Review it."

    await report(app, conversation_id, FINISHED)
    (delivery,) = await reaches(client, callback, "delivered")
    again = f"{PATH}/{callback['id']}/deliveries/{delivery['id']}/redeliver"
    (await client.post(again)).raise_for_status()
    (repeated,) = await reaches(client, callback, "delivered")
    assert repeated["started_conversation_id"] == delivery["started_conversation_id"]

    started, child = UUID(delivery["started_conversation_id"]), await conversation_of(app, owner)
    async with app.database.session() as session:
        conversation = await session.get_one(Conversation, started)
        assert (conversation.title, conversation.trigger) == ("Review: A conversation", "callback")
        (part,) = (await session.get_one(StartTask, started)).request["initial_message"]["content"]
        (await session.get_one(Conversation, child)).parent_conversation_id = conversation_id
    assert part["text"].startswith("Review it.\n")
    assert 'from="conversation"' in part["text"]
    assert "The agent has finished." in part["text"]

    for each in (started, child):
        await report(app, each, FINISHED)
    found = (await client.get(f"{PATH}/{callback['id']}/deliveries")).json()["items"]
    assert [one["id"] for one in found] == [delivery["id"]]


async def test_a_task_needs_instructions_a_filter_and_conversations_of_the_user(
    app: App, client: httpx.AsyncClient, owner: User
) -> None:
    changes: list[dict[str, Any]] = [{"instructions": None}, {"instructions": " "}, {"statuses": []}]
    for wrong in (*changes, {"is_for_everyone": True}):
        assert (await client.post(PATH, json=WANTED | wrong)).status_code == 422
    callback = await added(client)
    changed = await client.patch(f"{PATH}/{callback['id']}", json={"instructions": "Write tests."})
    assert changed.json()["instructions"] == "Write tests."
    unfiltered = await client.patch(f"{PATH}/{callback['id']}", json={"statuses": []})
    assert_problem(unfiltered, 400, "no_filter")
    filtered = await client.patch(f"{PATH}/{callback['id']}", json={"statuses": [], "tools": ["terminal"]})
    assert (filtered.json()["statuses"], filtered.json()["tools"]) == ([], ["terminal"])
    log = (await client.post(PATH, json={"name": "Log", "processor": "log"})).json()
    refused = await client.patch(f"{PATH}/{log['id']}", json={"instructions": "Write tests."})
    assert_problem(refused, 400, "no_instructions")


async def test_a_callback_of_before_that_has_no_filter_can_be_disabled(
    app: App, client: httpx.AsyncClient
) -> None:
    callback = await added(client)
    async with app.database.session() as session:
        (await session.get_one(Callback, UUID(callback["id"]))).statuses = []
    changed = await client.patch(f"{PATH}/{callback['id']}", json={"is_enabled": False})
    assert changed.json()["is_enabled"] is False, changed.text
