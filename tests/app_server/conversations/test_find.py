"""Tests of the word search within one conversation."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from app_server.events import log, word_index
from tests.app_server.conversations.conftest import Home
from tests.app_server.conversations.feeds import Feed, durable, feed_of

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def feed(home: Home) -> AsyncIterator[Feed]:
    async with feed_of(home) as feed:
        yield feed


def said(seq: int, text: str) -> dict[str, Any]:
    return durable(seq, llm_message={"role": "user", "content": [{"type": "text", "text": text}]})


def called(seq: int, command: str) -> dict[str, Any]:
    action = {"kind": "TerminalAction", "command": command, "is_input": False}
    return durable(seq, kind="ActionEvent", tool_name="terminal", tool_call_id=f"call-{seq}", action=action)


def answered(seq: int, output: str) -> dict[str, Any]:
    observation = {"kind": "TerminalObservation", "content": [{"type": "text", "text": output}]}
    return durable(seq, kind="ObservationEvent", source="environment", observation=observation)


async def find(feed: Feed, query: str, **params: Any) -> dict[str, Any]:
    url = f"/api/v1/conversation/{feed.id}/events/search"
    reply = await feed.home.client.get(url, params={"query": query, **params})
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


async def count(feed: Feed, query: str, **params: Any) -> int:
    url = f"/api/v1/conversation/{feed.id}/events/count"
    return int((await feed.home.client.get(url, params={"query": query, **params})).json())


def positions(found: dict[str, Any]) -> list[int]:
    assert [each["id"] for each in found["items"]] == [each["event_id"] for each in found["matches"]]
    return [each["seq"] for each in found["matches"]]


async def test_words_are_found_in_messages_calls_and_outputs_in_pages_to_both_sides(feed: Feed) -> None:
    await feed.report(
        said(1, "Repair the harbour_crane, please."),
        called(2, "grep -rn crane src/"),
        answered(3, "x" * 5000 + " CRANE in the middle " + "y" * 70_000 + "\nlast line: Crâne_2 broken"),
        said(4, "Nothing of it here."),
        said(5, "The cranes work. (repair done)"),
        durable(6, kind="ConversationStateUpdateEvent", key="title", value="crane"),
    )
    assert positions(await find(feed, "crane")) == [1, 2, 3, 5]
    newest = await find(feed, "CRAN", sort_order="TIMESTAMP_DESC", limit=3)
    assert positions(newest) == [5, 3, 2]
    older = await find(feed, "CRAN", sort_order="TIMESTAMP_DESC", limit=3, page_id=newest["next_page_id"])
    assert (positions(older), older["next_page_id"]) == ([1], None)
    # All words of the query must occur. A single letter matches only this letter as a word.
    assert positions(await find(feed, "repair crane")) == [1, 5]
    assert positions(await find(feed, "c crane")) == []
    assert positions(await find(feed, "crâne 2")) == [3]
    assert positions(await find(feed, "middle")) == []
    assert (await find(feed, "*:& '\""))["items"] == []
    assert [await count(feed, each) for each in ("crane", "repair crane", "boat", "!")] == [4, 2, 0, 0]
    assert await count(feed, "crane", kind__eq="ActionEvent") == 1
    assert positions(await find(feed, "crane", kind__eq="ActionEvent")) == [2]
    [call] = (await find(feed, "src crane", limit=1))["matches"]
    assert call["passage"] == [
        {"text": "grep -rn ", "is_match": False},
        {"text": "crane", "is_match": True},
        {"text": " ", "is_match": False},
        {"text": "src", "is_match": True},
        {"text": "/", "is_match": False},
    ]
    [output] = (await find(feed, "broken"))["matches"]
    assert "".join(part["text"] for part in output["passage"]).endswith("last line: Crâne_2 broken")
    assert [part["text"] for part in output["passage"] if part["is_match"]] == ["broken"]


async def test_only_the_events_of_this_conversation_are_found(home: Home, feed: Feed) -> None:
    async with feed_of(home) as other:
        await other.report(said(1, "The anchor holds."))
        await feed.report(said(1, "No boat."), said(2, "Weigh the anchor."))
        assert positions(await find(feed, "anchor")) == [2]
        assert positions(await find(other, "anchor")) == [1]
        async with home.database.session() as session:
            assert await word_index.delete_some(session, UUID(other.id), 1) == 1
            await log.delete_log(session, UUID(other.id))
        assert (await find(other, "anchor"))["items"] == []
        assert positions(await find(feed, "anchor")) == [2]
    plain = await home.client.get(f"/api/v1/conversation/{feed.id}/events/search")
    assert "matches" not in plain.json()
    refused = await home.client.get(
        f"/api/v1/conversation/{feed.id}/events/search", params={"query": "anchor", "page_id": "x"}
    )
    assert refused.json()["code"] == "bad_page_id"
