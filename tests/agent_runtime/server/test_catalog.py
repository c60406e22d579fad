"""Tests of the list of conversations, which is made without opening the conversations."""

import asyncio
import sqlite3
from pathlib import Path
from uuid import UUID

import pytest

from agent_runtime.conversation.creation import create_conversation
from agent_runtime.conversation.event_log.log import EventLog
from agent_runtime.events.content import TextContent
from agent_runtime.events.message import Message
from agent_runtime.llm.complete import LLMClient
from agent_runtime.wire import StartConversationRequest
from tests.agent_runtime.server.conftest import message, start_request
from tests.support.agent_app import agent_app, called
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, say

SEARCH = "/api/conversations/search"


async def made(path: Path, llm: ScriptedLLM, count: int) -> list[str]:
    """Makes `count` closed conversations on disk and returns their ids in the order of creation."""
    request = StartConversationRequest.model_validate(start_request(llm, path))
    client = LLMClient()
    ids = []
    for number in range(count):
        directory = path / "conversations" / UUID(int=number).hex
        conversation = create_conversation(directory, request, client, conversation_id=UUID(int=number))
        conversation.send(Message(role="user", content=[TextContent(text=f"message {number}")]))
        await conversation.close()
        ids.append(str(conversation.id))
    await client.close()
    return ids


def spoil_first_event(path: Path, conversation_id: str) -> None:
    """Makes the first event in the log unreadable, so that reading the whole log fails."""
    db = sqlite3.connect(path / "conversations" / UUID(conversation_id).hex / "log.sqlite")
    db.execute("UPDATE events SET body = 'none' WHERE seq = 1")
    db.commit()
    db.close()


async def test_five_hundred_conversations_are_paged_without_opening_any(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    ids = await made(tmp_path, scripted_llm, 500)
    for conversation_id in ids[::7]:
        spoil_first_event(tmp_path, conversation_id)
    found: list[str] = []
    async with agent_app(tmp_path) as client:
        assert await called(client, "GET", "/api/conversations/count") == 500
        page_id = None
        while page_id or not found:
            page = await called(client, "GET", SEARCH, params={"page_id": page_id} if page_id else {})
            found += [info["id"] for info in page["items"]]
            page_id = page["next_page_id"]
        # Each log can be opened here, because the list has not locked it.
        for conversation_id in ids[:3]:
            EventLog(tmp_path / "conversations" / UUID(conversation_id).hex).close()

    assert found == ids[::-1]


async def test_a_list_shows_what_the_conversation_itself_would_show(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("Hello."))
    async with agent_app(tmp_path) as client:
        body = start_request(scripted_llm, tmp_path, "Hi.")
        conversation_id = (await called(client, "POST", "/api/conversations", json=body))["id"]
        path = f"/api/conversations/{conversation_id}"
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await called(client, "GET", "/api/conversations/count", params={"status": "finished"}):
                pass
        live = (await called(client, "GET", SEARCH))["items"]
        await called(client, "PATCH", path, json={"title": "Named", "tags": {"a": "b"}})
    async with agent_app(tmp_path) as client:
        at_rest = (await called(client, "GET", SEARCH))["items"]
        batch = await called(
            client, "GET", "/api/conversations", params={"ids": [conversation_id, str(UUID(int=1))]}
        )
        opened = await called(client, "GET", path)

    assert at_rest == [opened]
    assert batch == [opened, None]
    assert (opened["title"], opened["tags"], opened["execution_status"]) == ("Named", {"a": "b"}, "finished")
    assert live[0]["stats"] == opened["stats"]


async def test_after_going_back_the_list_knows_only_the_branch(tmp_path: Path, scripted_llm: ScriptedLLM):
    async with agent_app(tmp_path) as client:
        info = await called(client, "POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))
        path = f"/api/conversations/{info['id']}"
        for text in ("one", "two"):
            await called(client, "POST", f"{path}/events", json=message(text))
        events = (await called(client, "GET", f"{path}/events/search"))["items"]
        await called(client, "POST", f"{path}/navigate", json={"event_id": events[1]["id"]})
    async with agent_app(tmp_path) as client:
        (listed,) = (await called(client, "GET", SEARCH))["items"]

    assert listed["last_user_message_id"] == listed["leaf_event_id"] == events[1]["id"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("CREATED_AT", [0, 1, 2]),
        ("CREATED_AT_DESC", [2, 1, 0]),
        ("UPDATED_AT", [1, 2, 0]),
        ("UPDATED_AT_DESC", [0, 2, 1]),
    ],
)
async def test_lists_have_an_order_that_outlives_what_is_deleted(
    tmp_path: Path, scripted_llm: ScriptedLLM, order: str, expected: list[int]
):
    ids = await made(tmp_path, scripted_llm, 3)
    async with agent_app(tmp_path) as client:
        await called(client, "POST", f"/api/conversations/{ids[0]}/events", json=message("again"))
        page = await called(client, "GET", SEARCH, params={"sort_order": order, "limit": 1})
        await called(client, "DELETE", f"/api/conversations/{ids[expected[1]]}")
        rest = await called(
            client, "GET", SEARCH, params={"sort_order": order, "page_id": page["next_page_id"]}
        )

    assert [info["id"] for info in page["items"]] == [ids[expected[0]]]
    assert [info["id"] for info in rest["items"]] == [ids[expected[2]]]


async def test_a_damaged_log_hides_no_other_and_a_wrong_page_is_refused(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    ids = await made(tmp_path, scripted_llm, 2)
    (tmp_path / "conversations" / UUID(ids[0]).hex / "log.sqlite").write_bytes(b"no database" * 1000)
    async with agent_app(tmp_path) as client:
        page = await called(client, "GET", SEARCH)
        strange = ("nonsense", "~", f"2026-11-20T10:00:00~{ids[1]}")
        wrong = [await client.get(SEARCH, params={"page_id": page_id}) for page_id in strange]

    assert [info["id"] for info in page["items"]] == [ids[1]]
    assert [(one.status_code, one.json()["code"]) for one in wrong] == [(422, "validation_failed")] * 3
