"""Tests of the events that sandboxes report: how they are stored and read in pages, refused reports, titles
and the search.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import websockets

from app_server.core.pubsub import End
from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, client_of
from tests.app_server.conversations.feeds import Feed, durable, feed_of, message, read_until, state_update


@pytest.fixture
async def feed(home: Home) -> AsyncIterator[Feed]:
    async with feed_of(home) as made:
        yield made


async def test_a_reader_that_falls_behind_or_a_server_that_ends_says_come_back(feed: Feed) -> None:
    for reason, code in ((End.OVERRUN, 1013), (End.CLOSED, 1012)):
        async with feed.watch() as socket:
            await read_until(socket, type="conversation")
            feed.home.state["pubsub"].end_all(reason)
            with pytest.raises(websockets.ConnectionClosed):
                await read_until(socket, type="never")
            assert socket.close_code == code


@pytest.mark.both_databases
async def test_pages_walk_the_log_both_ways(feed: Feed) -> None:
    await feed.report_events(1, 7)
    await feed.report(state_update(8, "execution_status", "finished"))
    url = f"/api/v1/conversation/{feed.id}/events"
    client = feed.home.client

    for order, expected in (("TIMESTAMP", range(1, 9)), ("TIMESTAMP_DESC", range(8, 0, -1))):
        assert await walked(client, url, sort_order=order) == [f"event-{seq}" for seq in expected]

    assert (await client.get(f"{url}/count")).json() == 8
    assert (await client.get(f"{url}/count", params={"kind__eq": "MessageEvent"})).json() == 7
    assert (await client.get(f"{url}/count", params={"timestamp__gte": "2026-11-21T00:00:00Z"})).json() == 0
    batch = (await client.get(url, params={"id": ["event-2", "nobody"]})).json()
    assert [event and event["id"] for event in batch] == ["event-2", None]


@pytest.mark.both_databases
async def test_pages_of_a_time_walk_by_time_and_then_by_position(feed: Feed) -> None:
    hours = (9, 11, 10, 12, 10, 10, 13)
    await feed.report(
        *(durable(seq, timestamp=f"2026-11-20T{hour:02}:00:00") for seq, hour in enumerate(hours, start=1))
    )
    url = f"/api/v1/conversation/{feed.id}/events"
    limits = {"timestamp__gte": "2026-11-20T10:00:00Z", "timestamp__lt": "2026-11-20T13:00:00Z"}
    expected = [f"event-{seq}" for seq in (3, 5, 6, 2, 4)]

    assert await walked(feed.home.client, url, limit=2, **limits) == expected
    assert (
        await walked(feed.home.client, url, limit=2, sort_order="TIMESTAMP_DESC", **limits) == expected[::-1]
    )
    assert await walked(feed.home.client, url, limit=2, kind__eq="MessageEvent", **limits) == expected
    assert await walked(feed.home.client, url, kind__eq="PauseEvent", **limits) == []
    assert (await feed.home.client.get(f"{url}/count", params=limits)).json() == 5


async def walked(client: httpx.AsyncClient, url: str, *, limit: int = 3, **params: str) -> list[str]:
    """Reads all pages of an event search. Returns the ids of the events in order."""
    ids: list[str] = []
    page_id: str | None = None
    while True:
        asked = {"limit": limit, **params, **({"page_id": page_id} if page_id else {})}
        page = (await client.get(f"{url}/search", params=asked)).raise_for_status().json()
        ids += [event["id"] for event in page["items"]]
        page_id = page["next_page_id"]
        if page_id is None:
            return ids


BAD_REPORTS: list[Any] = [
    b"{",
    b"[]",
    b'{"frames":[{"type":"durable","seq":0,"event":{}}]}',
    b'{"frames":[{"type":"durable","seq":1,"event":{"id":"x"}}]}',
    b'{"frames":[{"type":"durable","seq":1e99,"event":{"id":"x"}}]}',
    b'{"frames":[{"type":"nothing"}]}',
    b'{"frames":[{"type":"delta","item_id":5}]}',
    b'{"frames":' + b"[" * 5000 + b"]" * 5000 + b"}",
    b'{"frames":[{"type":"durable","seq":1,"event":{"id":"x","kind":"\\u0000","source":"a","timestamp":"2026-01-01T00:00:00"}}]}',
    b'{"frames":[{"type":"durable","seq":1,"event":{"id":"x","kind":"A","source":"a","timestamp":"0001-01-01T00:00:00+14:00"}}]}',
    json.dumps({"frames": [durable(1, text="\ud800")]}).encode(),
    json.dumps({"frames": [durable(1, **{"\udfff": 1})]}).encode(),
    json.dumps({"frames": [durable(1, deep="deep")]})
    .replace('"deep"}', "[" * 400 + "]" * 400 + "}")
    .encode(),
    json.dumps({"frames": [durable(2**63)]}).encode(),
    json.dumps({"frames": [durable(1, id="../" * 100)]}).encode(),
    json.dumps({"frames": [durable(1, id="a b")]}).encode(),
]


@pytest.mark.parametrize("body", BAD_REPORTS)
async def test_a_malformed_report_is_a_problem(feed: Feed, body: bytes) -> None:
    reply = await feed.inner.post(
        f"/api/v1/webhooks/events/{feed.id}", content=body, headers={"Content-Type": "application/json"}
    )
    assert reply.status_code in {400, 422}, reply.text
    assert reply.headers["content-type"] == "application/problem+json"


async def test_a_report_that_would_block_the_server_is_refused(feed: Feed) -> None:
    report = await feed.report(durable(1, text="x" * 8 * 1024**2))

    assert (report.status_code, report.json()["code"]) == (413, "payload_too_large")
    assert (await feed.report(durable(1, text="x" * 1024**2))).status_code == 200


@pytest.mark.both_databases
async def test_strange_but_legal_events_are_kept_as_they_are(feed: Feed) -> None:
    strange = durable(1, big=2**70, text="🚀 \u0000", nested={"a": [None, 1.5, {}]})
    assert (await feed.report(strange)).status_code == 200

    page = (await feed.home.client.get(f"/api/v1/conversation/{feed.id}/events/search")).json()
    assert page["items"] == [strange["event"]]


@pytest.mark.both_databases
async def test_what_a_sandbox_says_of_itself_never_breaks_the_list(feed: Feed) -> None:
    for seq, cost in enumerate((float("inf"), float("nan"), -(10**400), "much", [[]]), 1):
        stats = {"usage_to_metrics": {"agent": {"accumulated_cost": cost, "model_name": [cost]}}}
        body = json.dumps({"frames": [state_update(seq, "stats", stats)]})
        reply = await feed.inner.post(
            f"/api/v1/webhooks/events/{feed.id}", content=body, headers={"Content-Type": "application/json"}
        )
        assert reply.status_code == 200, reply.text
    for key, value in (("execution_status", {"running": 1}), ("execution_status", "x" * 9), ("title", 5)):
        seq += 1
        assert (await feed.report(state_update(seq, key, value))).status_code == 200

    listed = (await feed.home.client.get(f"{ROOT}/search")).raise_for_status().json()["items"]

    assert [item["last_seq"] for item in listed] == [seq]
    assert listed[0]["metrics"]["accumulated_cost"] == 0
    async with feed.watch() as socket:
        frames = await read_until(socket, type="durable", seq=seq)
    # The same frame goes to all readers of the stream, so its field `access` is empty.
    assert frames[2]["conversation"] == {**listed[0], "access": None}


@pytest.mark.both_databases
async def test_bad_input_is_a_problem_never_a_failure(feed: Feed) -> None:
    client, events = feed.home.client, f"/api/v1/conversation/{feed.id}/events"
    requests = [
        client.get(f"{ROOT}/search", params={"page_id": "???"}),
        client.get(f"{ROOT}/search", params={"page_id": "YQpi"}),
        client.get(f"{ROOT}/search", params={"limit": 0}),
        client.get(f"{ROOT}/search", params={"title__contains": "\x00"}),
        client.get(f"{ROOT}/search", params={"created_at__gte": "0001-01-01T00:00:00+14:00"}),
        client.get(ROOT, params={"ids": "nonsense"}),
        client.get(ROOT),
        client.get(f"{ROOT}/start-tasks/search", params={"page_id": "YQpi"}),
        client.get(f"{events}/search", params={"page_id": "YQpi"}),
        client.get(f"{events}/search", params={"kind__eq": "\x00"}),
        client.get(events, params={"id": "\x00"}),
        client.patch(f"{ROOT}/{feed.id}", json={"title": ""}),
        client.patch(f"{ROOT}/nonsense", json={"title": "x"}),
        client.post(f"{ROOT}/{feed.id}/send-message", json=message(content=[])),
        client.post(f"{ROOT}/{feed.id}/send-message", json=message(role="system")),
        client.post(ROOT, content=b"{", headers={"Content-Type": "application/json"}),
        client.post(ROOT, json={"selected_repository": "ext::sh -c id"}),
        client.post(ROOT, json={"selected_repository": "--upload-pack=id"}),
        client.post(ROOT, json={"selected_repository": "http://[broken/x"}),
        client.post(ROOT, json={"conversation_id": "x"}),
    ]
    for request in requests:
        reply = await request
        assert 400 <= reply.status_code < 500, (reply.url, reply.text)
        assert reply.headers["content-type"] == "application/problem+json"


async def test_without_a_running_sandbox_the_routes_into_it_say_so(feed: Feed) -> None:
    for reply in (
        await feed.home.client.post(f"{ROOT}/{feed.id}/run"),
        await feed.home.client.get(f"{ROOT}/{feed.id}/git/changes"),
    ):
        assert (reply.status_code, reply.json()["code"]) == (409, "sandbox_not_running")


async def test_a_new_title_is_sent_to_followers(feed: Feed) -> None:
    async with feed.watch() as socket:
        await read_until(socket, type="conversation")
        await feed.home.client.patch(f"{ROOT}/{feed.id}", json={"title": "  Harbour  "})
        frames = await read_until(socket, type="conversation")
    assert frames[-1]["conversation"]["title"] == "Harbour"
    found = await feed.home.client.get(f"{ROOT}/search", params={"title__contains": "harb"})
    assert [item["id"] for item in found.json()["items"]] == [feed.id]


@pytest.mark.both_databases
async def test_conversations_are_found_by_words_of_their_messages(feed: Feed) -> None:
    async def found(**params: str) -> list[str]:
        reply = await feed.home.client.get(f"{ROOT}/search", params=params)
        count = await feed.home.client.get(f"{ROOT}/count", params=params)
        items = reply.raise_for_status().json()["items"]
        assert count.json() == len(items)
        return [item["id"] for item in items]

    content = [{"type": "text", "text": "Please \x00 repair the crane_arm by noon, see core/router.py."}]
    asked = durable(1, source="user", llm_message={"role": "user", "content": content})
    finish = {"kind": "FinishAction", "message": "The Kräne turn again."}
    await feed.report(asked, durable(2, kind="ActionEvent", action=finish))
    await feed.report(state_update(3, "title", "Harbour works"))

    for query in (
        "crane",
        "NOON repair",
        "cran",
        "crane_arm",
        "kräne",
        "turn again",
        "arbour",
        'no"crane*',
        "router.py",
        "core/rout",
    ):
        assert await found(query=query) == [feed.id], query
    for query in ("noon turn", "boat", "n", "näch", '"', "%"):
        assert await found(query=query) == [], query
    assert await found(query="crane", llm_model__eq="none") == []
    assert await found(selected_repository__contains="x") == []
    async with client_of(feed.home.config, await feed.home.key_of(Role.MEMBER)) as other:
        reply = await other.get(f"{ROOT}/search", params={"query": "crane"})
        assert reply.json()["items"] == []
    deleted = await feed.home.client.delete(f"{ROOT}/{feed.id}")
    assert (deleted.is_success, await found(query="crane")) == (True, [])


async def test_deleting_a_conversation_closes_its_watchers_with_4004(feed: Feed) -> None:
    async with feed.watch() as socket:
        await read_until(socket, type="conversation")
        assert (await feed.home.client.delete(f"{ROOT}/{feed.id}")).is_success
        with pytest.raises(websockets.ConnectionClosed):
            await read_until(socket, type="never")
        assert socket.close_code == 4004


async def test_a_generated_title_is_sent_to_followers_and_shown_in_the_list(feed: Feed) -> None:
    async with feed.watch() as socket:
        await read_until(socket, type="conversation")
        await feed.report(state_update(1, "title", " Repair\n the\x00 harbour "))
        frames = await read_until(socket, type="conversation")

    assert frames[-1]["conversation"]["title"] == "Repair the harbour"
    found = await feed.home.client.get(f"{ROOT}/search", params={"title__contains": "repair"})
    assert [item["id"] for item in found.json()["items"]] == [feed.id]


async def test_a_generated_title_leaves_the_users_own_alone(feed: Feed) -> None:
    await feed.home.client.patch(f"{ROOT}/{feed.id}", json={"title": "Harbour"})
    await feed.report(state_update(1, "title", "Something else"))

    shown = await feed.home.client.get(ROOT, params={"ids": feed.id})
    assert [item["title"] for item in shown.json()] == ["Harbour"]
