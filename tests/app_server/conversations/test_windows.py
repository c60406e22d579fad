"""Tests of windows, the parts of a conversation's log that a web page loads: the newest events with the
conversation's state, and pages of older and newer events.
"""

import base64
import io
import json
import zipfile
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select, update

from app_server.conversations.models import Conversation
from app_server.events import blobs
from app_server.events.models import EventBlob
from tests.app_server.conversations.conftest import ROOT, Home
from tests.app_server.conversations.feeds import Feed, durable, feed_of, read_until, state_update
from tests.app_server.problems import assert_problem

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def feed(home: Home) -> AsyncIterator[Feed]:
    async with feed_of(home) as feed:
        yield feed


def call(seq: int, name: str) -> dict[str, Any]:
    action = {"kind": "TerminalAction", "command": "ls"}
    return durable(
        seq, kind="ActionEvent", id=name, tool_name="terminal", tool_call_id=f"call-{name}", action=action
    )


def answer(seq: int, name: str) -> dict[str, Any]:
    observation = {"kind": "TerminalObservation", "command": "ls", "content": []}
    return durable(
        seq, kind="ObservationEvent", source="environment", action_id=name, observation=observation
    )


STORY = [
    state_update(1, "execution_status", "running"),
    state_update(2, "stats", {"usage_to_metrics": {}}),
    call(3, "open"),
    call(4, "answered"),
    answer(5, "answered"),
    state_update(6, "execution_status", "running"),
    state_update(7, "agent_state", {"tasks": {"one": {"status": "running"}, "two": {"status": "running"}}}),
    state_update(8, "agent_state", {"tasks": {"one": {"status": "completed"}}}),
    state_update(9, "goal", {"status": "complete", "objective": "x"}),
    durable(10, source="user"),
    state_update(11, "stats", {"usage_to_metrics": {}}),
]
FOLDED = [1, 3, 7, 8, 11]


async def window(feed: Feed, **params: int | str) -> Any:
    url = f"/api/v1/conversation/{feed.id}/events/window"
    reply = await feed.home.client.get(url, params=params)
    assert reply.status_code == 200, reply.text
    return reply.json()


def positions(frames: list[dict[str, Any]]) -> list[int]:
    return [frame["seq"] for frame in frames]


async def test_the_newest_window_comes_with_the_events_that_make_up_the_state(feed: Feed) -> None:
    await feed.report(*STORY[:6])
    await feed.report(*STORY[6:])
    await feed.report_events(12, 20)

    newest = await window(feed, limit=4)
    assert (newest["first_seq"], newest["last_seq"], newest["log_seq"]) == (17, 20, 20)
    assert newest["events"] == [durable(seq) for seq in range(17, 21)]
    assert positions(newest["state"]) == FOLDED

    whole = await window(feed)
    assert (whole["first_seq"], whole["state"]) == (1, [])


async def test_pages_lead_to_both_ends_of_the_log(feed: Feed) -> None:
    await feed.report_events(1, 10)
    older = await window(feed, before_seq=9, limit=5)
    assert positions(older["events"]) == [4, 5, 6, 7, 8]
    assert older["state"] is None
    assert positions((await window(feed, before_seq=4, limit=5))["events"]) == [1, 2, 3]
    first = await window(feed, before_seq=1)
    assert (first["first_seq"], first["last_seq"], first["events"]) == (1, 0, [])
    assert positions((await window(feed, after_seq=8, limit=5))["events"]) == [9, 10]
    assert (await window(feed, after_seq=99))["events"] == []
    assert (await window(feed, before_seq=99, limit=1))["last_seq"] == 10

    for limit, seqs in ((1, [5]), (2, [5, 6]), (5, [3, 4, 5, 6, 7]), (50, [*range(1, 11)])):
        around = await window(feed, around_event_id=durable(5)["event"]["id"], limit=limit)
        assert (around["first_seq"], around["last_seq"]) == (seqs[0], seqs[-1])
        assert (positions(around["events"]), around["log_seq"], around["state"]) == (seqs, 10, None)
    at_end = await window(feed, around_event_id=durable(10)["event"]["id"], limit=3)
    assert positions(at_end["events"]) == [9, 10]

    url = f"/api/v1/conversation/{feed.id}/events/window"
    both = await feed.home.client.get(url, params={"before_seq": 1, "after_seq": 1})
    assert (both.status_code, both.json()["code"]) == (400, "one_side_only")
    unknown = await feed.home.client.get(url, params={"around_event_id": "elsewhere"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "event_not_found")


async def test_large_events_make_a_window_shorter_but_never_empty(feed: Feed) -> None:
    await feed.report_events(1, 2)
    await feed.report(*(durable(seq, text="x" * 80_000) for seq in (3, 4, 5)))
    await feed.report(durable(6, text="x" * 400_000))
    assert positions((await window(feed))["events"]) == [6]
    assert positions((await window(feed, before_seq=6))["events"]) == [4, 5]
    assert positions((await window(feed, after_seq=2))["events"]) == [3, 4]


async def test_the_state_of_a_log_from_before_is_made_when_it_is_asked_for(feed: Feed) -> None:
    await feed.report(*STORY)
    async with feed.home.database.session() as session:
        forget = update(Conversation).where(Conversation.id == UUID(feed.id)).values(folded_state=None)
        await session.execute(forget)
    await feed.report_events(12, 20)
    assert positions((await window(feed, limit=4))["state"]) == FOLDED
    await feed.report(state_update(21, "stats", {"usage_to_metrics": {}}))
    assert positions((await window(feed, limit=1))["state"]) == [1, 3, 7, 8]


async def test_a_stream_begins_with_a_window_and_goes_on_live(feed: Feed) -> None:
    await feed.report(*STORY)
    await feed.report_events(12, 20)
    async with feed.watch("0&window=3") as socket:
        frames = await read_until(socket, type="durable", seq=20)
        assert (frames[0]["type"], frames[0]["first_seq"], frames[0]["last_seq"]) == ("window", 18, 20)
        assert positions(frames[0]["state"]) == FOLDED
        assert frames[1] == {"type": "sync", "from_seq": 17, "through_seq": 20}
        assert positions([frame for frame in frames if frame["type"] == "durable"]) == [18, 19, 20]
        await feed.report_events(21, 21)
        await read_until(socket, type="durable", seq=21)
    async with feed.watch("19&window=3") as socket:
        assert (await read_until(socket, type="durable", seq=21))[0]["type"] == "sync"


PICTURE = f"data:image/png;base64,{base64.b64encode(bytes(90_000)).decode()}"
LONG = "a long output\n" * 10_000


def seen(seq: int) -> dict[str, Any]:
    content = [{"type": "text", "text": LONG}, {"type": "image", "image_urls": [PICTURE]}]
    return durable(
        seq, kind="ObservationEvent", observation={"kind": "BrowserObservation", "content": content}
    )


async def test_large_parts_are_references_in_rows_replies_and_frames(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, url = feed.home.client, f"/api/v1/conversation/{feed.id}/events"
    async with feed.watch() as socket:
        await read_until(socket, type="conversation")
        await feed.report(seen(1))
        live = (await read_until(socket, type="durable", seq=1))[-1]
    async with feed.watch() as socket:
        assert (await read_until(socket, type="durable", seq=1))[-1] == live
    assert (await window(feed))["events"] == [live]
    long_text, picture = live["blobs"]
    shown = live["event"]["observation"]["content"]
    assert len(shown[0]["text"]) < 10_000
    [address] = shown[1]["image_urls"]

    reply = await client.get(address)
    assert (reply.status_code, reply.content) == (200, bytes(90_000))
    assert reply.headers["content-type"] == picture["media_type"] == "image/png"
    assert "sandbox" in reply.headers["content-security-policy"]
    assert (await client.get(f"{url}/blobs/{long_text['sha256']}")).text == LONG
    missing = await client.get(f"{url}/blobs/{'0' * 64}")
    assert (missing.status_code, missing.json()["code"]) == (404, "blob_not_found")

    whole = seen(1)["event"]
    # A client that does not ask for references to blobs gets complete events, as in the protocol.
    assert (await client.get(f"{url}/search")).json()["items"] == [whole]
    assert (await client.get(f"{url}/search", params={"full": False})).json()["items"] == [live["event"]]
    assert (await client.get(url, params={"id": whole["id"]})).json() == [whole]
    assert (await client.get(url, params={"id": whole["id"], "full": False})).json() == [live["event"]]

    assert (await feed.report(seen(1))).json() == {"acknowledged_seq": 1}
    async with feed.home.database.read() as session:
        assert await session.scalar(select(func.count()).select_from(EventBlob)) == 2

    # Many events with the same blob must not fill the memory with copies of it.
    monkeypatch.setattr(blobs, "MAX_COMPLETE_BYTES", 300_000)
    await feed.report(seen(2), seen(3))
    for query in ({}, {"query": "output"}):
        page = (await client.get(f"{url}/search", params=query)).json()
        assert page["items"] == [whole]
        rest = {**query, "page_id": page["next_page_id"]}
        assert (await client.get(f"{url}/search", params=rest)).json()["items"] == [seen(2)["event"]]
    ids = {"id": [seen(seq)["event"]["id"] for seq in (1, 2)]}
    assert_problem(await client.get(url, params=ids), 413, "events_too_large")
    assert len((await client.get(url, params={**ids, "full": False})).json()) == 2


async def test_a_conversation_with_large_parts_is_exported_and_imported_exactly(feed: Feed) -> None:
    content = [{"type": "text", "text": "See."}, {"type": "image", "image_urls": [PICTURE]}]
    said = durable(1, source="user", llm_message={"role": "user", "content": content})
    await feed.report(said)
    client, zipped = feed.home.client, {"Content-Type": "application/zip"}
    first = await client.get(f"{ROOT}/{feed.id}/download")
    copy = (await client.post(f"{ROOT}/import", content=first.content, headers=zipped)).json()["id"]
    second = await client.get(f"{ROOT}/{copy}/download")
    for export in (first, second):
        with zipfile.ZipFile(io.BytesIO(export.content)) as archive:
            [name] = [name for name in archive.namelist() if name.startswith("event_")]
            assert json.loads(archive.read(name)) == said["event"]
    [shown] = (await client.get(f"/api/v1/conversation/{copy}/events/search?full=false")).json()["items"]
    assert copy in shown["llm_message"]["content"][1]["image_urls"][0]
