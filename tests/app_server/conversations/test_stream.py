"""Tests of the live event stream and of the reports of sandboxes, over real sockets."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
import websockets

from app_server.core.pubsub import LocalPubSub
from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, client_of
from tests.app_server.conversations.feeds import Feed, durable, feed_of, message, read_until, state_update
from tests.app_server.sharing.test_user_stream import following
from tests.support.patience import PATIENCE_SECONDS

WAIT_SECONDS = 3600.0


def waiting() -> dict[str, Any]:
    """Returns a frame which reports that a model call has failed and will be repeated."""
    retry = {
        "code": "LLMRateLimitError",
        "detail": "HTTP 429",
        "model": "sonnet",
        "wait_seconds": WAIT_SECONDS,
        "next_attempt": 2,
        "max_attempts": 5,
    }
    return {"type": "item_aborted", "item_id": "r", "attempt": 1, "reason": "HTTP 429", "retry": retry}


@pytest.fixture
async def feed(home: Home) -> AsyncIterator[Feed]:
    async with feed_of(home) as made:
        yield made


@pytest.mark.both_databases
async def test_replay_then_live_with_the_greeting_after_sync(feed: Feed) -> None:
    await feed.report_events(1, 3)

    async with feed.watch(after_seq=1) as socket:
        replay = await read_until(socket, type="durable", seq=3)
        assert replay[0] == {"type": "sync", "from_seq": 1, "through_seq": 3}
        assert [frame["type"] for frame in replay] == [
            "sync",
            "start_task",
            "conversation",
            "durable",
            "durable",
        ]
        assert replay[2]["conversation"]["id"] == feed.id
        assert replay[3]["event"] == durable(2)["event"]

        pieces = [
            {"item_id": "event-4", "attempt": 1, "type": "item_started"},
            {
                "item_id": "event-4",
                "attempt": 1,
                "type": "delta",
                "order": 0,
                "kind": "text",
                "content": "nä",
            },
        ]
        await feed.report(*pieces, durable(4))
        live = await read_until(socket, type="durable", seq=4)
        assert live[:2] == pieces


@pytest.mark.both_databases
async def test_a_hundred_reconnects_during_a_run_end_with_exactly_the_log(feed: Feed) -> None:
    last, chance = 300, random.Random(7)  # noqa: S311 (nothing to guess here)

    async def run() -> None:
        seq = 0
        while seq < last:
            step = chance.randint(1, 4)
            first = max(1, seq - 2)
            await feed.report_events(first, min(last, seq + step))
            seq = min(last, seq + step)

    seen: list[int] = []
    reconnects = 0
    running = asyncio.create_task(run())
    while not seen or seen[-1] < last or reconnects < 100:
        async with feed.watch(after_seq=seen[-1] if seen else 0) as socket:
            for _ in range(chance.randint(3, 12)):
                if seen and seen[-1] == last:
                    break
                frame = json.loads(await asyncio.wait_for(socket.recv(), PATIENCE_SECONDS))
                if frame["type"] == "durable":
                    seen.append(frame["seq"])
            # Ends the connection without a close frame, as a lost network does.
            socket.transport.abort()
        reconnects += 1
    await running

    assert seen == list(range(1, last + 1))


@pytest.mark.both_databases
async def test_a_repeated_report_is_not_shown_again_and_a_gap_says_where_to_go_on(feed: Feed) -> None:
    async with feed.watch() as socket:
        await read_until(socket, type="conversation")
        delta = {
            "type": "delta",
            "item_id": "event-1",
            "attempt": 1,
            "order": 0,
            "kind": "text",
            "content": "a",
        }
        for _ in range(2):
            assert (await feed.report(delta, durable(1), durable(2))).json() == {"acknowledged_seq": 2}
        gap = await feed.report(durable(5))
        assert (gap.status_code, gap.json()["code"], gap.json()["acknowledged_seq"]) == (409, "seq_gap", 2)
        other = await feed.report(durable(2, id="another"))
        assert (other.status_code, other.json()["code"]) == (409, "seq_conflict")
        await feed.report(durable(3))
        frames = await read_until(socket, type="durable", seq=3)

    assert [(frame["type"], frame.get("seq")) for frame in frames] == [
        ("delta", None),
        ("durable", 1),
        ("durable", 2),
        ("conversation", None),  # the repeated report
        ("durable", 3),
    ]


@pytest.mark.parametrize("more", [False, True], ids=["repeated", "repeated with a new event"])
async def test_events_of_a_server_that_was_killed_before_it_sent_them_arrive_with_the_repeated_report(
    feed: Feed, more: bool
) -> None:
    finished = state_update(2, "execution_status", "finished")
    state = feed.home.state
    await feed.report(state_update(1, "execution_status", "running"))
    address = f"http://127.0.0.1:{feed.home.config.port}"
    async with following(address, feed.home.client) as (listed, _), feed.watch(after_seq=0) as socket:
        await read_until(socket, type="durable", seq=1)
        # As of an app server that is killed after its commit: its messages reach no client.
        usual, state["pubsub"] = state["pubsub"], LocalPubSub()
        await feed.report(finished)
        state["pubsub"] = usual
        reply = await feed.report(finished, *([durable(3)] if more else []))
        assert reply.json() == {"acknowledged_seq": 3 if more else 2}
        frames = await read_until(socket, type="conversation")
        told = await read_until(listed, type="conversation")

    assert [frame["seq"] for frame in frames[:-1]] == ([2, 3] if more else [2])
    assert [frame["conversation"]["last_seq"] for frame in (frames[-1], told[-1])] == [3 if more else 2] * 2


async def test_output_of_a_running_call_is_sent_to_later_readers_and_not_stored(feed: Feed) -> None:
    shown = {"type": "output", "outputs": [{"action_id": "a", "text": "50 %", "styles": [[0, 2, "1;31"]]}]}
    over = {"type": "output", "outputs": []}
    await feed.report(durable(1))
    async with feed.watch() as first:
        await read_until(first, seq=1)
        await feed.report(shown)
        assert (await read_until(first, type="output"))[-1] == shown
    async with feed.watch() as late:
        frames = await read_until(late, type="output")
        assert frames[-1] == shown
        assert frames[-2]["seq"] == 1, "the call that it belongs to comes first"
        await feed.report(over, durable(2))
        assert (await read_until(late, type="output"))[-1] == over
    async with feed.watch() as last:
        frames = await read_until(last, seq=2)
        await feed.report_events(3, 3)
        frames += await read_until(last, seq=3)
        assert [frame["type"] for frame in frames].count("output") == 0


async def test_a_wait_for_the_model_is_sent_to_later_readers_with_the_remaining_time(
    feed: Feed,
) -> None:
    await feed.report(state_update(1, "execution_status", "running"), waiting())
    # A message of the user does not change that the agent waits for the model.
    await feed.report(durable(2, source="user"))
    async with feed.watch() as late:
        frames = await read_until(late, type="item_aborted")
    assert [frame["seq"] for frame in frames if frame["type"] == "durable"] == [1, 2]
    left = frames[-1]["retry"].pop("wait_seconds")
    assert 0 < left < WAIT_SECONDS
    told = waiting()
    del told["retry"]["wait_seconds"]
    assert frames[-1] == told


@pytest.mark.parametrize(
    "news",
    [
        {"type": "item_started", "item_id": "r", "attempt": 2},
        {"type": "item_aborted", "item_id": "r", "attempt": 1, "reason": "stopped"},
        state_update(1, "execution_status", "error"),
        durable(1),
    ],
    ids=["the next attempt", "an interruption", "the end of the run", "a reply"],
)
async def test_a_wait_that_is_over_is_not_sent_to_later_readers(feed: Feed, news: dict[str, Any]) -> None:
    await feed.report(waiting(), news)
    await feed.report({"type": "output", "outputs": [{"action_id": "a", "text": "50 %", "styles": []}]})
    async with feed.watch() as late:
        frames = await read_until(late, type="output")
    assert "item_aborted" not in [frame["type"] for frame in frames]


@pytest.mark.both_databases
async def test_the_list_shows_what_the_log_says_but_never_a_false_running(feed: Feed) -> None:
    stats = {
        "agent": {
            "model_name": "m",
            "accumulated_cost": 0.25,
            "accumulated_token_usage": {"prompt_tokens": 5},
        }
    }
    async with feed.watch() as socket:
        await read_until(socket, type="conversation")
        await feed.report(
            durable(
                1,
                source="user",
                llm_message={"role": "user", "content": [{"type": "text", "text": "Mend it\n!"}]},
            ),
            state_update(2, "execution_status", "running"),
            state_update(3, "stats", {"usage_to_metrics": stats}),
        )
        shown = (await read_until(socket, type="conversation"))[-1]["conversation"]

    assert shown["title"] == "Mend it"
    assert shown["metrics"]["accumulated_cost"] == 0.25
    assert shown["metrics"]["accumulated_token_usage"]["prompt_tokens"] == 5
    assert shown["last_seq"] == 3
    # The sandbox of this conversation was never started.
    assert shown["sandbox_status"] == "STARTING"
    assert shown["execution_status"] is None


@pytest.mark.parametrize(
    ("conversation", "after_seq", "code"),
    [("0" * 31 + "1", 0, 4004), ("nonsense", 0, 4004), (None, "minus", 4004)],
)
async def test_an_unknown_conversation_closes_with_4004(
    feed: Feed, conversation: str | None, after_seq: int | str, code: int
) -> None:
    async with feed.watch(after_seq, conversation=conversation) as socket:
        with pytest.raises(websockets.ConnectionClosed):
            await read_until(socket, type="never")
        assert socket.close_code == code


async def test_another_user_sees_nothing(feed: Feed) -> None:
    async with feed.watch(key="slw_wrong") as socket:
        with pytest.raises(websockets.ConnectionClosed):
            await read_until(socket, type="never")
        assert socket.close_code == 4001
    key = await feed.home.key_of(Role.ADMIN)
    async with feed.watch(key=key) as socket:
        with pytest.raises(websockets.ConnectionClosed):
            await read_until(socket, type="never")
        assert socket.close_code == 4004

    events = f"/api/v1/conversation/{feed.id}/events"
    async with client_of(feed.home.config, key) as stranger:
        requests = [
            stranger.get(f"{events}/search"),
            stranger.get(f"{events}/count"),
            stranger.get(events, params={"id": "x"}),
            stranger.patch(f"{ROOT}/{feed.id}", json={"title": "mine"}),
            stranger.delete(f"{ROOT}/{feed.id}"),
            stranger.post(f"{ROOT}/start-tasks/{feed.id}/retry"),
            stranger.post(f"{ROOT}/{feed.id}/run"),
            stranger.post(f"{ROOT}/{feed.id}/pause"),
            stranger.post(f"{ROOT}/{feed.id}/interrupt"),
            stranger.get(f"{ROOT}/{feed.id}/git/changes"),
            stranger.get(f"{ROOT}/{feed.id}/git/diff", params={"path": "x"}),
            stranger.get(f"{ROOT}/{feed.id}/git/patch"),
            stranger.post(f"{ROOT}/{feed.id}/send-message", json=message()),
            stranger.post(f"/api/v1/conversations/{feed.id}/pending-messages", json=message()),
        ]
        for request in requests:
            reply = await request
            assert (reply.status_code, reply.json()["code"]) == (404, "not_found"), reply.url
        assert (await stranger.get(ROOT, params={"ids": feed.id})).json() == [None]
        assert (await stranger.get(f"{ROOT}/start-tasks", params={"ids": feed.id})).json() == [None]
        assert (await stranger.get(f"{ROOT}/search")).json()["items"] == []


async def test_a_sandbox_reports_only_its_own_conversation(feed: Feed) -> None:
    assert (await feed.report(durable(1), to=uuid4().hex)).status_code == 404
    feed.inner.headers["X-Session-API-Key"] = "wrong"
    assert (await feed.report(durable(1))).status_code == 401
