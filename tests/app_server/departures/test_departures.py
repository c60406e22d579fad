"""Tests of people who leave: what they own is counted, exported, handed over to another user, and deleted."""

import io
import json
import zipfile
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import func, select, update

from app_server.audit.models import AuditEntry
from app_server.callbacks.models import Callback, Processor
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.sharing.models import ConversationShare, ConversationTeamShare, ShareRole
from app_server.conversations.start.tasks import new_stages
from app_server.core.database import now
from app_server.events import log
from app_server.events.schemas import DurableFrame
from app_server.git.providers import GitProvider
from app_server.sandbox_records.models import Sandbox
from app_server.secrets.models import Secret
from app_server.settings.models import LLMProfile
from app_server.teams.models import Team, TeamMember
from app_server.triggers.models import Trigger
from app_server.users.models import Role, User
from app_server.users.service import create_user
from app_server.users.tokens import token_hash
from tests.app_server.conftest import App
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem

KEEP = {
    "conversations": "hand_over",
    "profiles": "hand_over",
    "callbacks": "hand_over",
    "triggers": "hand_over",
}
TEAM_ID = uuid4()
DROP = {"conversations": "delete", "profiles": "delete", "callbacks": "delete", "triggers": "delete"}


@dataclass(frozen=True)
class Leaver:
    id: UUID
    conversation_id: UUID

    @property
    def path(self) -> str:
        return f"/api/v1/people/{self.id}"


@pytest.fixture
async def ada(app: App, owner: User) -> Leaver:
    """Stores a member, Ada, with a profile, a secret, a callback, a trigger and a conversation. The owner
    may view the conversation, and Ada's team may steer it.
    """
    async with app.database.session() as session:
        person = await create_user(session, name="Ada", role=Role.MEMBER)
        ids = {"id": uuid4(), "user_id": person.id}
        session.add(Conversation(**ids, title="Engine", llm_profile="demo", last_seq=1))
        session.add(StartTask(**ids, status=StartStatus.READY, request={}, stages=new_stages()))
        await app.state["sandboxes"].create(session, sandbox_id=ids["id"], user_id=person.id)
        await session.flush()
        share = {"conversation_id": ids["id"], "user_id": owner.id}
        session.add(ConversationShare(**share, role=ShareRole.VIEW))
        session.add(Team(id=TEAM_ID, name="Engines", name_key="engines"))
        await session.flush()
        session.add(TeamMember(team_id=TEAM_ID, user_id=person.id))
        of_team = {"conversation_id": ids["id"], "team_id": TEAM_ID}
        session.add(ConversationTeamShare(**of_team, role=ShareRole.STEER))
        key = app.state["cipher"].encrypt("the-key-of-ada")
        session.add(LLMProfile(user_id=person.id, name="demo", model="x/y", api_key_encrypted=key))
        value = app.state["cipher"].encrypt("the-secret-of-ada")
        session.add(Secret(user_id=person.id, name="DEPLOY", value_encrypted=value))
        lists: dict[str, list[Any]] = {"kinds": [], "sources": [], "tools": [], "statuses": []}
        session.add(Callback(user_id=person.id, name="hook", processor=Processor.LOG, **lists))
        host = {"provider": GitProvider.GITHUB, "origin": "https://github.com", "repository": "ada/engine"}
        secrets = {"clone_url": "https://github.com/ada/engine.git", "secret_encrypted": value}
        trigger = {"events": [], "llm_profile": "demo", **host, **secrets}
        session.add(Trigger(user_id=person.id, **trigger))
        event = {"id": "e1", "kind": "MessageEvent", "source": "user", "timestamp": "2026-01-01T00:00:00"}
        told = {"role": "user", "content": [{"type": "text", "text": "Build it"}]}
        frame = DurableFrame(type="durable", seq=1, event={**event, "llm_message": told})
        await log.append(session, ids["id"], [frame])
    return Leaver(person.id, ids["id"])


async def leftovers(app: App, person: Leaver) -> list[int]:
    """Returns how many user rows, conversations and sandboxes of the person are in the database, in this
    order.
    """
    async with app.database.read() as session:
        return [
            await session.scalar(select(func.count()).select_from(table).where(column == person.id)) or 0
            for table, column in (
                (User, User.id),
                (Conversation, Conversation.user_id),
                (Sandbox, Sandbox.user_id),
            )
        ]


async def test_what_is_handed_over_goes_on_with_its_new_owner(
    app: App, client: httpx.AsyncClient, owner: User, ada: Leaver
) -> None:
    had = (await client.get(f"{ada.path}/belongings")).json()
    assert (had["conversations"], had["profiles"], had["callbacks"], had["secrets"]) == (1, 1, 1, 1)
    reply = await client.post(f"{ada.path}/deletion", json={**KEEP, "heir_id": owner.id.hex})
    assert reply.status_code == 202, reply.text
    assert reply.json()["deleting_at"] is not None
    [shown] = (await client.get("/api/v1/app-conversations", params={"ids": ada.conversation_id.hex})).json()
    assert (shown["access"], shown["llm_profile"], shown["is_shared"]) == ("own", "demo-2", True)
    sharing = await client.get(f"/api/v1/app-conversations/{ada.conversation_id}/sharing")
    assert [(one["name"], one["access"]) for one in sharing.json()["teams"]] == [("Engines", "steer")]

    async def gone() -> bool:
        return await leftovers(app, ada) == [0, 0, 0]

    await eventually(gone)
    assert (await client.get(f"/api/v1/teams/{TEAM_ID}")).json()["members"] == []
    async with app.database.read() as session:
        for table in (Sandbox, StartTask):
            row = await session.get_one(table, ada.conversation_id)
            assert row.user_id == owner.id
        profile = await session.scalar(select(LLMProfile).where(LLMProfile.name == "demo-2"))
        assert profile is not None
        assert app.state["cipher"].decrypt(profile.api_key_encrypted or "") == "the-key-of-ada"
        assert await session.scalar(select(Callback.user_id)) == owner.id
        trigger = await session.scalar(select(Trigger))
        assert trigger is not None
        assert (trigger.user_id, trigger.llm_profile) == (owner.id, "demo-2")
        assert await session.scalar(select(Secret)) is None
        entry = await session.scalar(select(AuditEntry).where(AuditEntry.action == "member.deleted"))
        assert entry is not None
        assert (entry.details["name"], entry.details["conversations"]) == ("Ada", "hand_over: 1")


async def test_callbacks_that_send_or_act_are_handed_over_disabled_with_the_reason(
    app: App, client: httpx.AsyncClient, owner: User, ada: Leaver
) -> None:
    encrypt = app.state["cipher"].encrypt
    lists: dict[str, list[Any]] = {"kinds": [], "sources": [], "tools": [], "statuses": ["finished"]}
    addresses = {
        Processor.WEBHOOK: "https://receiver.example.com/x",
        Processor.CHAT: "https://chat.example.com/x",
        Processor.MAIL: "mailto:ada@example.com",
        Processor.TASK: None,
    }
    async with app.database.session() as session:
        for processor, url in addresses.items():
            more = {"processor": processor, "url_encrypted": url and encrypt(url)}
            session.add(Callback(user_id=ada.id, name=processor, **more, **lists))
    (await client.post(f"{ada.path}/deletion", json={**KEEP, "heir_id": owner.id.hex})).raise_for_status()
    callbacks = {one["processor"]: one for one in (await client.get("/api/v1/callbacks")).json()}
    assert (callbacks.pop("log")["is_enabled"], len(callbacks)) == (True, 4)
    for callback in callbacks.values():
        assert not callback["is_enabled"]
        assert "A person who has left" in callback["disabled_reason"]
    path = f"/api/v1/callbacks/{callbacks['webhook']['id']}"
    enabled = (await client.patch(path, json={"is_enabled": True})).json()
    assert (enabled["is_enabled"], enabled["disabled_reason"]) == (True, None)


async def test_model_keys_end_when_a_conversation_is_handed_over(
    app: App, client: httpx.AsyncClient, owner: User, ada: Leaver
) -> None:
    async with app.database.session() as session:
        conversation = await session.get_one(Conversation, ada.conversation_id)
        conversation.model_key_hash = token_hash("the-model-key-of-ada")
        conversation.model_key_until = now() + timedelta(hours=1)
    (await client.post(f"{ada.path}/deletion", json={**KEEP, "heir_id": owner.id.hex})).raise_for_status()
    shown = await client.get(f"/api/v1/app-conversations/{ada.conversation_id}/model-key")
    assert shown.json() == {"expires_at": None}
    async with app.database.read() as session:
        assert (await session.get_one(Conversation, ada.conversation_id)).model_key_hash is None


async def test_what_is_not_handed_over_is_deleted_with_the_person(
    app: App, client: httpx.AsyncClient, ada: Leaver
) -> None:
    (await client.post(f"{ada.path}/deletion", json=DROP)).raise_for_status()
    again = await client.post(f"{ada.path}/deletion", json=DROP)
    if again.status_code != 404:
        assert_problem(again, 409, "person_being_deleted")

    async def gone() -> bool:
        return await leftovers(app, ada) == [0, 0, 0]

    await eventually(gone)
    async with app.database.read() as session:
        assert await log.last_seq(session, ada.conversation_id) == 0


async def test_a_deletion_is_refused_with_a_reason(
    app: App, client: httpx.AsyncClient, owner: User, ada: Leaver
) -> None:
    path = f"{ada.path}/deletion"
    assert (await client.post(path, json=KEEP)).status_code == 422
    reply = await client.post(path, json={**KEEP, "heir_id": ada.id.hex})
    assert_problem(reply, 400, "heir_not_usable")
    reply = await client.post(path, json={**KEEP, "heir_id": uuid4().hex})
    assert_problem(reply, 404, "person_not_found")
    reply = await client.post(f"/api/v1/people/{owner.id}/deletion", json=DROP)
    assert_problem(reply, 403, "role_not_manageable")
    await app.state["start_worker"].close()
    async with app.database.session() as session:
        await session.execute(update(StartTask).values(status=StartStatus.WORKING))
    assert_problem(await client.post(path, json=DROP), 409, "conversations_starting")
    async with app.database.session() as session:
        await session.execute(update(User).where(User.id == ada.id).values(deleting_at=now()))
    reply = await client.patch(ada.path, json={"is_disabled": False})
    assert_problem(reply, 409, "person_being_deleted")


async def test_an_export_has_everything_but_secrets(client: httpx.AsyncClient, ada: Leaver) -> None:
    reply = (await client.get(f"{ada.path}/export")).raise_for_status()
    assert reply.headers["Content-Type"] == "application/zip"
    archive = zipfile.ZipFile(io.BytesIO(reply.content))
    assert json.loads(archive.read("person.json"))["name"] == "Ada"
    texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert json.loads(texts["data/secrets.jsonl"])["name"] == "DEPLOY"
    assert json.loads(texts["data/llm_profiles.jsonl"])["model"] == "x/y"
    assert json.loads(texts["data/team_members.jsonl"])["team_id"] == TEAM_ID.hex
    [event] = texts[f"conversations/{ada.conversation_id.hex}.jsonl"].splitlines()
    assert json.loads(event)["llm_message"]["content"][0]["text"] == "Build it"
    for text in texts.values():
        assert "encrypted" not in text
        assert "-of-ada" not in text
