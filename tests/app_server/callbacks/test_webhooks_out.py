"""Tests of outgoing webhooks: receivers get each event signed and at least once, also if deliveries fail or
a server is killed.
"""

import gzip
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app_server import lifespan
from app_server.callbacks.delivery import Deliveries
from app_server.callbacks.matching import KIND
from app_server.callbacks.signing import signed_headers
from app_server.conversations.log.ingest import ingest
from app_server.conversations.models import Conversation
from app_server.conversations.titles import title_of
from app_server.conversations.view import Viewer
from app_server.core.jobs.policy import RetryPolicy
from app_server.core.jobs.worker import Jobs
from app_server.events.log import read_body
from app_server.events.schemas import EventsReport
from app_server.users.models import Role, User
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client, listening
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem

PATH = "/api/v1/callbacks"
QUICK = RetryPolicy(
    attempts=30, first_pause=timedelta(milliseconds=1), longest_pause=timedelta(milliseconds=5)
)


@dataclass
class Receiver:
    """A webhook receiver: an ASGI app that stores each request in `heard`, and the id of each accepted
    message in `accepted`. It answers with the status `always`.

    fails_first: the first request of each message gets 503.
    compresses: the answers have a large body, compressed twice.
    """

    url: str = ""
    always: int = 200
    fails_first: bool = False
    compresses: bool = False
    heard: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body, headers = await request.body(), dict(request.headers)
        message = headers["webhook-id"]
        is_first = all(known["webhook-id"] != message for known, _ in self.heard)
        self.heard.append((headers, body))
        status = 503 if self.fails_first and is_first else self.always
        if status < 300:
            self.accepted.append(message)
        packed = {"content-encoding": "gzip, gzip"} if self.compresses else {}
        content = gzip.compress(gzip.compress(b" " * 1024**2)) if self.compresses else b"as told"
        await Response(content, status_code=status, headers=packed)(scope, receive, send)


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifespan, "DELIVERY_POLICY", QUICK)


@pytest.fixture
async def receiver(quick_retries: None) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    async with listening(receiver) as url:
        receiver.url = f"{url}/hook?token=hidden"
        yield receiver


async def conversation_of(app: App, user: User) -> UUID:
    await app.state["start_worker"].close()
    async with app.database.session() as session:
        row = Conversation(id=uuid4(), user_id=user.id, llm_profile="demo", last_seq=0)
        session.add(row)
        await app.state["sandboxes"].create(session, sandbox_id=row.id, user_id=user.id)
    return row.id


async def report(app: App, conversation_id: UUID, *events: dict[str, Any], after: int = 0) -> None:
    usual = {"kind": "MessageEvent", "source": "agent", "timestamp": "2026-11-26T12:00:00"}
    frames = [
        {"type": "durable", "seq": seq, "event": {**usual, "id": f"event-{seq}", **event}}
        for seq, event in enumerate(events, after + 1)
    ]
    viewer = Viewer(app.state["sandboxes"])
    wanted = EventsReport.model_validate({"frames": frames})
    await ingest(app.database, app.state["pubsub"], viewer, conversation_id, conversation_id, wanted)


async def deliveries(client: httpx.AsyncClient, callback: dict[str, Any], state: str) -> list[dict[str, Any]]:
    reply = await client.get(f"{PATH}/{callback['id']}/deliveries", params={"state": state, "limit": 100})
    found: list[dict[str, Any]] = reply.json()["items"]
    return found


async def reaches(client: httpx.AsyncClient, callback: dict[str, Any], state: str, count: int = 1) -> Any:
    async def are_there() -> bool:
        return len(await deliveries(client, callback, state)) == count

    await eventually(are_there)
    return await deliveries(client, callback, state)


async def add(client: httpx.AsyncClient, receiver: Receiver, **options: Any) -> dict[str, Any]:
    reply = await client.post(PATH, json={"name": "Ours", "url": receiver.url, **options})
    assert reply.status_code == 201, reply.text
    added: dict[str, Any] = reply.json()
    return added


def test_the_signature_is_that_of_standard_webhooks() -> None:
    headers = signed_headers(
        "msg_loFOjxBNrRLzqYUf",
        1731705121,
        b'{"event_type":"ping","data":{"success":true}}',
        ["whsec_plJ3nmyCDGBKInavdOK15jsl"],
    )
    assert headers["webhook-signature"] == "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="


async def test_a_matching_event_arrives_signed_with_both_secrets_while_they_are_valid(
    app: App, client: httpx.AsyncClient, owner: User, receiver: Receiver
) -> None:
    conversation_id = await conversation_of(app, owner)
    callback = await add(client, receiver, kinds=["ActionEvent"], tools=["terminal"])
    assert callback["secret"].startswith("whsec_")
    assert "hidden" not in json.dumps(callback)
    await report(
        app,
        conversation_id,
        {"kind": "MessageEvent"},
        {"kind": "ActionEvent", "tool_name": "browser"},
        {"kind": "ActionEvent", "tool_name": "terminal", "text": "ünïcode"},
    )
    (shown,) = await reaches(client, callback, "delivered")
    assert (shown["seq"], shown["status_code"], shown["attempts"]) == (3, 200, 1)
    (headers, body) = receiver.heard[0]
    message = json.loads(body)
    assert message["type"] == "conversation.event"
    assert message["data"]["conversation_id"] == conversation_id.hex
    assert message["data"]["event"]["text"] == "ünïcode"
    stamp = int(headers["webhook-timestamp"])
    expected = signed_headers(shown["message_id"], stamp, body, [callback["secret"]])
    assert headers["webhook-signature"] == expected["webhook-signature"]

    rotated = (await client.post(f"{PATH}/{callback['id']}/rotate-secret", json={})).json()
    await client.post(f"{PATH}/{callback['id']}/deliveries/{shown['id']}/redeliver")

    async def again() -> bool:
        return len(receiver.heard) == 2

    await eventually(again)
    headers, body = receiver.heard[1]
    assert headers["webhook-id"] == shown["message_id"]
    secrets = [rotated["secret"], callback["secret"]]
    expected = signed_headers(headers["webhook-id"], int(headers["webhook-timestamp"]), body, secrets)
    assert headers["webhook-signature"] == expected["webhook-signature"]
    assert len(headers["webhook-signature"].split(" ")) == 2


@pytest.mark.both_databases
async def test_a_receiver_that_fails_half_of_the_time_gets_each_event_over_the_end_of_a_server(
    app: App, client: httpx.AsyncClient, owner: User, receiver: Receiver
) -> None:
    receiver.fails_first = True
    conversation_id = await conversation_of(app, owner)
    callback = await add(client, receiver)
    await report(app, conversation_id, *({} for _ in range(20)))

    async def has_begun() -> bool:
        return len(receiver.accepted) >= 3

    await eventually(has_begun)
    killed: Jobs = app.state["jobs"]
    for task in [*killed._own_tasks, *(task for _, task in killed._running.values())]:
        task.cancel()  # frees no claims and locks, as after kill -9
    state = app.state
    deliver = Deliveries(
        app.database, state["cipher"], state["http"], state["guarded_http"], read_body, title_of, ""
    )
    successor = Jobs(app.database, state["pubsub"])
    successor.register(KIND, deliver.deliver, QUICK)
    await successor.open()
    await reaches(client, callback, "delivered", 20)
    await successor.close()
    assert len(set(receiver.accepted)) == 20


async def test_a_dead_letter_shows_its_reason_and_is_sent_again_by_hand(
    app: App, client: httpx.AsyncClient, owner: User, receiver: Receiver
) -> None:
    receiver.always = 500
    conversation_id = await conversation_of(app, owner)
    callback = await add(client, receiver)
    await report(app, conversation_id, {})
    (failed,) = await reaches(client, callback, "failed")
    assert (failed["status_code"], failed["attempts"]) == (500, QUICK.attempts)
    assert failed["error"] == "The receiver answered 500: as told"
    receiver.always = 200
    path = f"{PATH}/{callback['id']}/deliveries/{failed['id']}/redeliver"
    assert (await client.post(path)).json()["state"] == "waiting"
    (delivered,) = await reaches(client, callback, "delivered")
    assert delivered["message_id"] == failed["message_id"]


async def test_a_receiver_that_is_gone_is_called_no_more(
    app: App, client: httpx.AsyncClient, owner: User, receiver: Receiver
) -> None:
    receiver.always = 410
    conversation_id = await conversation_of(app, owner)
    callback = await add(client, receiver)
    await report(app, conversation_id, {})
    await reaches(client, callback, "failed")
    (shown,) = (await client.get(PATH)).json()
    assert not shown["is_enabled"]
    assert "410" in shown["disabled_reason"]
    enabled = (await client.patch(f"{PATH}/{callback['id']}", json={"is_enabled": True})).json()
    assert (enabled["is_enabled"], enabled["disabled_reason"]) == (True, None)


async def test_events_of_others_stay_theirs_and_members_reach_no_private_address(
    app: App, client: httpx.AsyncClient, owner: User, receiver: Receiver
) -> None:
    async with app.database.session() as session:
        member = await create_user(session, name="Member", role=Role.MEMBER)
        _, key = await create_api_key(session, member, name="tests")
    owners, members = await conversation_of(app, owner), await conversation_of(app, member)
    body = {"name": "Theirs", "url": receiver.url}
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as theirs:
        of_owner = await theirs.post(PATH, json={**body, "conversation_id": owners.hex})
        assert_problem(of_owner, 404, "not_found")
        for_everyone = await theirs.post(PATH, json={**body, "is_for_everyone": True})
        assert_problem(for_everyone, 403, "permission_missing")
        callback = (await theirs.post(PATH, json=body)).json()
        for_all = await add(client, receiver, is_for_everyone=True, statuses=["finished"])
        finished = {"kind": "ConversationStateUpdateEvent", "key": "execution_status", "value": "finished"}
        await report(app, owners, {}, finished)
        await report(app, members, finished)
        (refused,) = await reaches(theirs, callback, "failed")
        assert refused["conversation_id"] == members.hex
        assert "private address" in refused["error"]
        await reaches(client, for_all, "delivered", 2)
        assert_problem(await client.delete(f"{PATH}/{callback['id']}"), 404, "not_found")
        assert (await theirs.delete(f"{PATH}/{callback['id']}")).status_code == 204
    assert len(receiver.heard) == 2


async def test_a_compressed_answer_is_not_unpacked_and_a_good_status_counts(
    app: App, client: httpx.AsyncClient, owner: User, receiver: Receiver
) -> None:
    receiver.compresses = True
    conversation_id = await conversation_of(app, owner)
    callback = await add(client, receiver)
    await report(app, conversation_id, {})
    await reaches(client, callback, "delivered")
    receiver.always = 410
    await report(app, conversation_id, {}, after=1)
    (refused,) = await reaches(client, callback, "failed")
    assert refused["error"] == "The receiver answered 410: The reply is compressed."


async def test_former_administrators_get_no_events_of_others(
    app: App, client: httpx.AsyncClient, owner: User, receiver: Receiver
) -> None:
    async with app.database.session() as session:
        grace = await create_user(session, name="Grace", role=Role.ADMIN)
        _, key = await create_api_key(session, grace, name="tests")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as admin:
        await add(admin, receiver, is_for_everyone=True)
    own = await add(client, receiver)
    async with app.database.session() as session:
        (await session.get_one(User, grace.id)).role = Role.MEMBER
    await report(app, await conversation_of(app, owner), {})
    await reaches(client, own, "delivered")
    assert len(receiver.heard) == 1


async def test_a_callback_that_logs_writes_one_line(
    app: App, client: httpx.AsyncClient, owner: User, caplog: pytest.LogCaptureFixture
) -> None:
    conversation_id = await conversation_of(app, owner)
    with caplog.at_level("INFO", "app_server.callbacks"):
        callback = (await client.post(PATH, json={"name": "Log", "processor": "log"})).json()
        await report(app, conversation_id, {})
        await reaches(client, callback, "delivered")
    assert any(record.message == "an event of a conversation" for record in caplog.records)
    wrong = {"name": "Log", "processor": "log", "url": "https://example.com"}
    assert (await client.post(PATH, json=wrong)).status_code == 422


async def test_a_handed_over_webhook_gets_no_events_of_its_new_owner_until_it_is_enabled(
    app: App, client: httpx.AsyncClient, owner: User, receiver: Receiver
) -> None:
    async with app.database.session() as session:
        member = await create_user(session, name="Grace", role=Role.MEMBER)
        _, key = await create_api_key(session, member, name="tests")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as theirs:
        callback = await add(theirs, receiver)
    fates = dict.fromkeys(("conversations", "profiles", "triggers"), "delete")
    body = {**fates, "callbacks": "hand_over", "heir_id": owner.id.hex}
    (await client.post(f"/api/v1/people/{member.id}/deletion", json=body)).raise_for_status()
    own = await add(client, receiver)
    conversation_id = await conversation_of(app, owner)
    await report(app, conversation_id, {})
    await reaches(client, own, "delivered")
    for state in ("waiting", "failed", "delivered"):
        assert await deliveries(client, callback, state) == []
    assert len(receiver.heard) == 1
    (await client.patch(f"{PATH}/{callback['id']}", json={"is_enabled": True})).raise_for_status()
    await report(app, conversation_id, {}, after=1)
    await reaches(client, callback, "delivered")
