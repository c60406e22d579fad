"""The live stream and the reports that feed it, over real sockets."""

import asyncio
import json
import random
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
import websockets
from websockets.asyncio.client import ClientConnection

from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.start.tasks import new_stages
from app_server.core.pubsub import End
from app_server.sandbox_records.models import Sandbox
from app_server.users.models import Role
from app_server.users.service import find_owner
from app_server.users.tokens import token_hash
from tests.app_server.conversations.conftest import ROOT, Home, client_of
from tests.support.patience import PATIENCE_SECONDS
from tests.support.plain_http import NO_TLS

pytestmark = pytest.mark.both_databases


class Feed:
    """A conversation that is READY, and its sandbox's side of the wire, played by the test."""

    def __init__(self, home: Home, conversation_id: UUID, key: str) -> None:
        self.home = home
        self.id = conversation_id.hex
        self.inner = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{home.config.inner_port}",
            headers={"X-Session-API-Key": key},
            timeout=PATIENCE_SECONDS,
            verify=NO_TLS,
        )

    async def report(self, *frames: dict[str, Any], to: str | None = None) -> httpx.Response:
        return await self.inner.post(f"/api/v1/webhooks/events/{to or self.id}", json={"frames": frames})

    async def report_events(self, first: int, last: int) -> None:
        reply = await self.report(*(durable(seq) for seq in range(first, last + 1)))
        assert reply.json() == {"acknowledged_seq": last}, reply.text

    def watch(
        self, after_seq: int | str = 0, *, key: str | None = None, conversation: str | None = None
    ) -> Any:
        url = f"{self.home.stream_url}/{conversation or self.id}/events/stream?after_seq={after_seq}"
        headers = {"Authorization": f"Bearer {key or self.home.key}"}
        return websockets.connect(url, additional_headers=headers, open_timeout=PATIENCE_SECONDS)


def durable(seq: int, **event: Any) -> dict[str, Any]:
    body = {
        "id": f"event-{seq}",
        "timestamp": "2026-11-20T20:55:11.603891",
        "source": "agent",
        "kind": "MessageEvent",
        "llm_message": {"role": "assistant", "content": [{"type": "text", "text": f"näch {seq}"}]},
    }
    return {"type": "durable", "seq": seq, "event": {**body, **event}}


def state_update(seq: int, key: str, value: Any) -> dict[str, Any]:
    return durable(seq, kind="ConversationStateUpdateEvent", source="environment", key=key, value=value)


WAIT_SECONDS = 3600.0


def waiting() -> dict[str, Any]:
    """The model could not be asked and will be again."""
    retry = {
        "code": "LLMRateLimitError",
        "detail": "HTTP 429",
        "model": "sonnet",
        "wait_seconds": WAIT_SECONDS,
        "next_attempt": 2,
        "max_attempts": 5,
    }
    return {"type": "item_aborted", "item_id": "r", "attempt": 1, "reason": "HTTP 429", "retry": retry}


async def read_until(socket: ClientConnection, **fields: Any) -> list[dict[str, Any]]:
    """All frames up to the first that has these fields."""
    frames = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            frames.append(json.loads(await socket.recv()))
            if fields.items() <= frames[-1].items():
                return frames


@pytest.fixture
async def feed(home: Home) -> Any:
    conversation_id = uuid4()
    key = f"session-{conversation_id.hex}"
    await home.state["start_worker"].close()
    async with home.database.session() as session:
        owner = await find_owner(session)
        assert owner is not None
        ids = {"id": conversation_id, "user_id": owner.id}
        session.add(Conversation(**ids, llm_profile="demo", last_seq=0))
        session.add(StartTask(**ids, status=StartStatus.READY, request={}, stages=new_stages()))
        sandbox: Sandbox = await home.state["sandboxes"].create(
            session, sandbox_id=conversation_id, user_id=owner.id
        )
        sandbox.session_key_hash = token_hash(key)
    feed = Feed(home, conversation_id, key)
    yield feed
    await feed.inner.aclose()


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
            # As a lost network does it: no farewell.
            socket.transport.abort()
        reconnects += 1
    await running

    assert seen == list(range(1, last + 1))


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
        ("durable", 3),
    ]


async def test_output_of_a_running_call_is_told_to_those_who_come_later_and_not_stored(feed: Feed) -> None:
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


async def test_a_wait_for_the_model_is_told_to_those_who_come_later_with_what_is_left_of_it(
    feed: Feed,
) -> None:
    await feed.report(state_update(1, "execution_status", "running"), waiting())
    # What a user says meanwhile leaves the agent waiting.
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
async def test_a_wait_that_is_over_is_not_told_to_those_who_come_later(
    feed: Feed, news: dict[str, Any]
) -> None:
    await feed.report(waiting(), news)
    await feed.report({"type": "output", "outputs": [{"action_id": "a", "text": "50 %", "styles": []}]})
    async with feed.watch() as late:
        frames = await read_until(late, type="output")
    assert "item_aborted" not in [frame["type"] for frame in frames]


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
    # This sandbox was never brought up.
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


async def test_a_stranger_sees_nothing(feed: Feed) -> None:
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


def message(**fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": "hello"}], **fields}


async def test_a_sandbox_reports_only_its_own_conversation(feed: Feed) -> None:
    assert (await feed.report(durable(1), to=uuid4().hex)).status_code == 404
    feed.inner.headers["X-Session-API-Key"] = "wrong"
    assert (await feed.report(durable(1))).status_code == 401


async def test_a_reader_that_falls_behind_or_a_server_that_ends_says_come_back(feed: Feed) -> None:
    for reason, code in ((End.OVERRUN, 1013), (End.CLOSED, 1012)):
        async with feed.watch() as socket:
            await read_until(socket, type="conversation")
            feed.home.state["pubsub"].end_all(reason)
            with pytest.raises(websockets.ConnectionClosed):
                await read_until(socket, type="never")
            assert socket.close_code == code


async def test_pages_walk_the_log_both_ways(feed: Feed) -> None:
    await feed.report_events(1, 7)
    await feed.report(state_update(8, "execution_status", "finished"))
    url = f"/api/v1/conversation/{feed.id}/events"
    client = feed.home.client

    for order, expected in (("TIMESTAMP", range(1, 9)), ("TIMESTAMP_DESC", range(8, 0, -1))):
        ids: list[str] = []
        page_id: str | None = None
        while True:
            params = {"limit": 3, "sort_order": order, **({"page_id": page_id} if page_id else {})}
            page = (await client.get(f"{url}/search", params=params)).json()
            ids += [event["id"] for event in page["items"]]
            page_id = page["next_page_id"]
            if page_id is None:
                break
        assert ids == [f"event-{seq}" for seq in expected]

    assert (await client.get(f"{url}/count")).json() == 8
    assert (await client.get(f"{url}/count", params={"kind__eq": "MessageEvent"})).json() == 7
    assert (await client.get(f"{url}/count", params={"timestamp__gte": "2026-11-21T00:00:00Z"})).json() == 0
    batch = (await client.get(url, params={"id": ["event-2", "nobody"]})).json()
    assert [event and event["id"] for event in batch] == ["event-2", None]


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


async def test_a_report_that_would_hold_up_everybody_is_refused(feed: Feed) -> None:
    report = await feed.report(durable(1, text="x" * 8 * 1024**2))

    assert (report.status_code, report.json()["code"]) == (413, "payload_too_large")
    assert (await feed.report(durable(1, text="x" * 1024**2))).status_code == 200


async def test_strange_but_legal_events_are_kept_as_they_are(feed: Feed) -> None:
    strange = durable(1, big=2**70, text="🚀 \u0000", nested={"a": [None, 1.5, {}]})
    assert (await feed.report(strange)).status_code == 200

    page = (await feed.home.client.get(f"/api/v1/conversation/{feed.id}/events/search")).json()
    assert page["items"] == [strange["event"]]


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
    # A frame goes to everyone who watches, so it says nothing of the access of one of them.
    assert frames[2]["conversation"] == {**listed[0], "access": None}


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


async def test_a_new_title_is_seen_by_who_watches(feed: Feed) -> None:
    async with feed.watch() as socket:
        await read_until(socket, type="conversation")
        await feed.home.client.patch(f"{ROOT}/{feed.id}", json={"title": "  Harbour  "})
        frames = await read_until(socket, type="conversation")
    assert frames[-1]["conversation"]["title"] == "Harbour"
    found = await feed.home.client.get(f"{ROOT}/search", params={"title__contains": "harb"})
    assert [item["id"] for item in found.json()["items"]] == [feed.id]


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


async def test_a_generated_title_is_seen_by_those_who_watch_and_in_the_list(feed: Feed) -> None:
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
