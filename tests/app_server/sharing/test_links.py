"""Tests of read-only links: what they show, what is searched for secrets, and when a link ends."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
import websockets
from sqlalchemy import select, update

from app_server.audit.models import AuditEntry
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.sharing.link_models import ConversationLink
from app_server.conversations.sharing.link_readers import OPENINGS_PER_MINUTE, LinkReaders
from app_server.conversations.sharing.secret_scan import SecretScan
from app_server.conversations.start.tasks import new_stages
from app_server.core.database import now
from app_server.core.errors import TooManyRequests
from app_server.events import log
from app_server.events.schemas import DurableFrame
from app_server.users.models import User
from tests.app_server.conftest import App, listening
from tests.app_server.problems import assert_problem
from tests.app_server.streams import close_code

GITHUB_TOKEN = "ghp_" + "a1B2c3D4e5" * 4
SAVED = "correct-horse-battery"


@pytest.fixture
async def conversation_id(app: App, owner: User) -> UUID:
    """Stores a READY conversation of the owner with three events: a system prompt, a user's message and
    settings. Returns its id.
    """
    await app.state["start_worker"].close()
    ids = {"id": uuid4(), "user_id": owner.id}
    async with app.database.session() as session:
        session.add(Conversation(**ids, title="A title", llm_profile="demo", last_seq=0))
        session.add(StartTask(**ids, status=StartStatus.READY, request={}, stages=new_stages()))
        await app.state["sandboxes"].create(session, sandbox_id=ids["id"], user_id=owner.id)
    system = {"kind": "SystemPromptEvent", "system_prompt": {"type": "text", "text": "The prompt"}}
    await say(app, ids["id"], 1, {**system, "source": "agent"})
    await say(app, ids["id"], 2, message("Hello"))
    settings = {"kind": "ConversationStateUpdateEvent", "key": "full_state", "value": {"agent": "settings"}}
    await say(app, ids["id"], 3, {**settings, "source": "environment"})
    return ids["id"]


def message(text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    told = {"role": "user", "content": content}
    return {"kind": "MessageEvent", "source": "user", "llm_message": told, "sender": "Grace"}


async def say(app: App, conversation_id: UUID, seq: int, event: dict[str, Any]) -> None:
    whole = {"id": f"event-{seq}", "timestamp": "2026-01-01T00:00:00", **event}
    async with app.database.session() as session:
        frame = DurableFrame(type="durable", seq=seq, event=whole)
        await log.append(session, conversation_id, [frame])
        frames = [frame.frame]
    for one in frames:
        app.state["pubsub"].publish(conversation_id, [one])


async def made(client: httpx.AsyncClient, conversation_id: UUID, **wanted: Any) -> dict[str, Any]:
    reply = await client.post(f"/api/v1/app-conversations/{conversation_id}/links", json=wanted)
    assert reply.status_code == 201, reply.text
    link: dict[str, Any] = reply.json()
    return link


def token_of(link: dict[str, Any]) -> str:
    return str(link["url"]).partition("#token=")[2]


@asynccontextmanager
async def reading(app: App, token: str) -> AsyncIterator[Any]:
    async with listening(app.public) as url:
        stream = f"{url.replace('http', 'ws')}/api/v1/linked-conversation/stream"
        offered: Any = ["slipway", f"slipway.link.{token}"]
        given = {"Origin": url}
        async with websockets.connect(stream, additional_headers=given, subprotocols=offered) as socket:
            yield socket


async def events(socket: Any, through: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while len(found) < through:
        frame = json.loads(await socket.recv())
        assert frame["type"] in {"sync", "durable"}, frame
        if frame["type"] == "durable":
            assert frame["seq"] == len(found) + 1
            found.append(frame["event"])
    return found


async def test_a_link_shows_the_events_without_a_sign_in_and_nothing_else(
    app: App, client: httpx.AsyncClient, anonymous: httpx.AsyncClient, conversation_id: UUID
) -> None:
    link = await made(client, conversation_id, name="For the review")
    headers = {"X-Link-Token": token_of(link)}
    reply = await anonymous.get("/api/v1/linked-conversation", headers=headers)
    assert reply.json() == {
        "title": "A title",
        "created_at": reply.json()["created_at"],
        "expires_at": link["expires_at"],
    }
    assert (reply.headers["Referrer-Policy"], reply.headers["X-Robots-Tag"]) == (
        "no-referrer",
        "noindex, nofollow",
    )
    for path in ("", f"/{conversation_id}/download", f"/{conversation_id}/git/changes"):
        reply = await anonymous.get(f"/api/v1/app-conversations{path}", headers=headers)
        assert_problem(reply, 401, "not_authenticated")
    async with reading(app, token_of(link)) as socket:
        prompt, said, settings = await events(socket, 3)
        assert said["llm_message"]["content"][0]["text"] == "Hello"
        told = json.dumps([prompt, said, settings])
        for hidden in ("The prompt", "settings", "Grace"):
            assert hidden not in told
    [shown] = (await client.get(f"/api/v1/app-conversations/{conversation_id}/links")).json()
    assert (shown["name"], shown["is_active"]) == ("For the review", True)
    assert shown["last_used_at"] is not None
    async with app.database.read() as session:
        row = (await session.scalars(select(ConversationLink))).one()
        assert token_of(link) not in str(vars(row))


async def test_secrets_are_named_and_must_be_confirmed(
    app: App, client: httpx.AsyncClient, conversation_id: UUID
) -> None:
    secret = {"name": "DEPLOY", "value": SAVED}
    (await client.post("/api/v1/secrets", json=secret)).raise_for_status()
    await say(app, conversation_id, 4, message(f"token: {GITHUB_TOKEN} and {SAVED}"))
    await say(app, conversation_id, 5, message(GITHUB_TOKEN))
    path = f"/api/v1/app-conversations/{conversation_id}/links"
    refused = await client.post(path, json={})
    assert_problem(refused, 409, "secrets_found")
    found = {one["kind"]: one for one in refused.json()["findings"]}
    assert found["saved_secret"]["name"] == "Secret DEPLOY"
    places = found["github_token"]["places"]
    assert [places[0]["seq"], places[-1]["seq"]] == [4, 5]
    assert places[0]["path"] == "llm_message.content.0.text"
    assert GITHUB_TOKEN not in refused.text
    assert SAVED not in refused.text
    ids = [one["id"] for one in refused.json()["findings"]]
    assert_problem(await client.post(path, json={"confirmed_findings": ids[1:]}), 409, "secrets_found")
    await made(client, conversation_id, confirmed_findings=ids)


async def test_secrets_of_later_events_are_hidden(
    app: App, client: httpx.AsyncClient, conversation_id: UUID
) -> None:
    token = token_of(await made(client, conversation_id))
    async with reading(app, token) as socket:
        await events(socket, 3)
        await say(app, conversation_id, 4, message(f"It is {GITHUB_TOKEN}."))
        frame = json.loads(await socket.recv())
        assert frame["event"]["llm_message"]["content"][0]["text"] == "It is <secret-hidden>."


async def test_large_parts_of_events_are_shown_whole_without_secrets(
    app: App, client: httpx.AsyncClient, conversation_id: UUID
) -> None:
    picture = f"data:image/png;base64,{base64.b64encode(bytes(90_000)).decode()}"
    content = [
        {"type": "text", "text": "line\n" * 20_000 + GITHUB_TOKEN + "\nline" * 20_000},
        {"type": "image", "image_urls": [picture]},
    ]
    seen = {"kind": "ObservationEvent", "source": "environment", "observation": {"content": content}}
    link = await made(client, conversation_id)
    async with reading(app, token_of(link)) as socket:
        await events(socket, 3)
        await say(app, conversation_id, 4, seen)
        live = json.loads(await socket.recv())
    async with reading(app, token_of(link)) as socket:
        assert (await events(socket, 4))[3] == live["event"]
    shown_text, shown_image = live["event"]["observation"]["content"]
    assert shown_image["image_urls"] == [picture]
    assert len(shown_text["text"]) > 190_000
    assert GITHUB_TOKEN not in shown_text["text"]


@pytest.mark.parametrize("end", ["removed", "expired", "disabled"])
async def test_streams_end_within_two_seconds_of_the_link(
    app: App,
    client: httpx.AsyncClient,
    anonymous: httpx.AsyncClient,
    conversation_id: UUID,
    end: str,
) -> None:
    link = await made(client, conversation_id)
    async with reading(app, token_of(link)) as socket:
        await events(socket, 3)
        if end == "removed":
            path = f"/api/v1/app-conversations/{conversation_id}/links"
            (await client.delete(f"{path}/{link['id']}")).raise_for_status()
            assert_problem(await client.delete(f"{path}/{link['id']}"), 404, "link_not_found")
        else:
            changed = (
                update(ConversationLink).values(expires_at=now() - timedelta(seconds=1))
                if end == "expired"
                else update(User).values(disabled_at=now())
            )
            async with app.database.session() as session:
                await session.execute(changed)
        async with asyncio.timeout(2):
            assert await close_code(socket) == 4004
    reply = await anonymous.get("/api/v1/linked-conversation", headers={"X-Link-Token": token_of(link)})
    assert_problem(reply, 404, "link_ended")


async def test_links_are_in_the_audit_log(app: App, client: httpx.AsyncClient, conversation_id: UUID) -> None:
    link = await made(client, conversation_id, hours=24)
    await client.delete(f"/api/v1/app-conversations/{conversation_id}/links/{link['id']}")
    async with app.database.read() as session:
        query = select(AuditEntry).where(AuditEntry.target_id == conversation_id.hex)
        rows = (await session.scalars(query.order_by(AuditEntry.id))).all()
    assert [row.action for row in rows] == ["conversation_link.created", "conversation_link.revoked"]
    assert rows[0].details["hours"] == 24


async def test_an_address_opens_only_so_many_links_in_a_minute(app: App) -> None:
    readers = LinkReaders(app.database)
    for _ in range(OPENINGS_PER_MINUTE):
        readers.admit("192.0.2.1")
    with pytest.raises(TooManyRequests) as refused:
        readers.admit("192.0.2.1")
    assert refused.value.code == "too_many_openings"
    readers.admit("192.0.2.2")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("AKIAIOSFODNN7EXAMPLE", "aws_access_key"),
        ("sk-ant-" + "a1B2c3" * 6, "model_key"),
        ("postgres://ada:lovelace1815@db/x", "password_in_url"),
        ("Authorization: Bearer abcdef123456xyz", "authorization_header"),
        ('{"api_key": "9f8e7d6c5b4a"}', "assigned_secret"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END PRIVATE KEY-----", "private_key"),
    ],
)
def test_forms_of_secrets_are_found_and_hidden(text: str, kind: str) -> None:
    scan = SecretScan({})
    assert kind in {match.kind for match in scan.matches(text)}
    assert list(scan.matches(scan.hide(text))) == []


@pytest.mark.parametrize(
    "text",
    [
        "password = os.environ['PASSWORD']",
        "token: the token of the user",
        "https://example.org:8080/path",
        "git@github.com:ada/engine.git",
        "def test_secret_is_hidden(token: str) -> None:",
        "max_tokens=100000 temperature=0.5",
    ],
)
def test_ordinary_text_holds_no_secret(text: str) -> None:
    assert list(SecretScan({}).matches(text)) == []
