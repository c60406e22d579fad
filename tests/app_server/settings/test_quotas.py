"""Tests of quotas. A refusal names the limit, who has set it, and when the user can try again."""

from datetime import datetime, timedelta
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import update

from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.core.database import now
from app_server.core.errors import TooManyRequests
from app_server.levels.models import Level
from app_server.levels.resolution import LevelValue
from app_server.llm_gateway.limits.models import Period, SpendingAccount
from app_server.llm_gateway.limits.refusals import reached
from app_server.llm_gateway.load_limits import CallCapacity
from app_server.sandbox_records.models import Archive, ArchiveKind, Sandbox, SandboxStatus
from app_server.users.tokens import token_hash
from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem
from tests.app_server.settings.test_levels import ADMINISTRATION, ORGANISATION, STARTS, ada, effective, put
from tests.app_server.sharing.test_sharing import MESSAGE
from tests.app_server.teams.test_teams import new_team

__all__ = ["ada"]

pytestmark = pytest.mark.both_databases

PEOPLE = f"{ADMINISTRATION}/people"


@pytest.fixture(autouse=True)
async def no_worker(app: App) -> None:
    """Stops the start worker: starts are stored, but do not run."""
    await app.state["start_worker"].close()


async def start(client: httpx.AsyncClient) -> UUID:
    reply = await client.post(STARTS, json={})
    assert reply.status_code == 200, reply.text
    return UUID(reply.json()["id"])


async def set_start(app: App, id_: UUID, **values: object) -> None:
    async with app.database.session() as session:
        await session.execute(update(StartTask).where(StartTask.id == id_).values(**values))


def assert_reached(reply: httpx.Response, quota: str, limit: int, set_by: str) -> dict[str, object]:
    assert_problem(reply, 429, "quota_reached")
    body: dict[str, object] = reply.json()
    assert (body["quota"], body["limit"], body["set_by"]) == (quota, limit, set_by)
    return body


async def test_starts_per_hour_free_when_the_oldest_is_an_hour_old(
    app: App, client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    await put(client, f"{ORGANISATION}/starts_per_hour", 2)
    first, _ = await start(ada), await start(ada)
    began = now() - timedelta(minutes=50)
    await set_start(app, first, created_at=began)
    refused = await ada.post(STARTS, json={})
    body = assert_reached(refused, "starts_per_hour", 2, "organisation")
    frees_at = datetime.fromisoformat(str(body["frees_at"]))
    assert abs(frees_at - began - timedelta(hours=1)) < timedelta(seconds=1)
    assert 500 < int(refused.headers["Retry-After"]) < 700
    await set_start(app, first, created_at=now() - timedelta(minutes=61))
    await start(ada)


async def test_starts_of_everyone_together_fill_the_quota_of_all(
    client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    await put(client, f"{ORGANISATION}/organisation_starts_per_hour", 1)
    await start(ada)
    refused = await client.post(STARTS, json={"llm_profile": "demo"})
    assert_reached(refused, "organisation_starts_per_hour", 1, "organisation")
    assert_reached(await ada.post(STARTS, json={}), "organisation_starts_per_hour", 1, "organisation")


async def test_a_persons_quota_comes_before_the_teams_and_the_organisations(
    client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    await put(client, f"{ORGANISATION}/starts_per_hour", 1)
    await start(ada)
    assert_reached(await ada.post(STARTS, json={}), "starts_per_hour", 1, "organisation")
    team = await new_team(client, "Core", ada)
    await put(client, f"{ADMINISTRATION}/teams/{team}/starts_per_hour", 2)
    await start(ada)
    refused = assert_reached(await ada.post(STARTS, json={}), "starts_per_hour", 2, "team")
    assert refused["team"] == "Core"
    own = f"{PEOPLE}/{ada.headers['X-Test-User']}/starts_per_hour"
    await put(client, own, 3)
    await start(ada)
    assert_reached(await ada.post(STARTS, json={}), "starts_per_hour", 3, "administrator")
    assert (await effective(ada, "starts_per_hour"))["value"] == 3
    names = {(one["level"], one["user_name"]) for one in (await client.get(ADMINISTRATION)).json()}
    assert names == {("organisation", None), ("team", None), ("user", "Ada")}
    assert (await client.delete(own)).status_code == 204
    assert_problem(await client.delete(own), 404, "setting_not_set")


async def test_quotas_that_cannot_be_are_refused(client: httpx.AsyncClient, ada: httpx.AsyncClient) -> None:
    person = ada.headers["X-Test-User"]
    team = await new_team(client, "Core", ada)
    for path in (
        f"{PEOPLE}/{person}/organisation_starts_per_hour",
        f"{ADMINISTRATION}/teams/{team}/organisation_running_sandboxes",
        f"{PEOPLE}/{person}/max_iterations",
    ):
        assert_problem(await client.put(path, json={"value": 3}), 400, "setting_not_at_level")
    unknown = f"{PEOPLE}/{team}/starts_per_hour"
    assert_problem(await client.put(unknown, json={"value": 3}), 404, "person_not_found")
    own = f"{PEOPLE}/{person}/starts_per_hour"
    assert (await client.put(own, json={"value": 0})).status_code == 422
    assert_problem(await ada.put(own, json={"value": 99}), 403, "permission_missing")


async def test_running_sandboxes_are_counted_for_a_person_and_for_everyone(
    app: App, client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    await put(client, f"{ORGANISATION}/running_sandboxes", 1)
    first = await start(ada)
    body = assert_reached(await ada.post(STARTS, json={}), "running_sandboxes", 1, "organisation")
    assert body["frees_at"] is None
    await _sleeps(app, ada, first)
    second = await start(ada)
    await _has_sandbox(app, ada, second, SandboxStatus.STARTING)
    for woken in (
        await ada.post(f"{STARTS}/{first}/send-message", json=MESSAGE),
        await ada.post(f"/api/v1/sandboxes/{first}/resume"),
        await ada.post(f"/api/v1/sandboxes/{first}/runtime-plugins/vscode/start"),
    ):
        assert_reached(woken, "running_sandboxes", 1, "organisation")

    await put(client, f"{ORGANISATION}/running_sandboxes", 5)
    await put(client, f"{ORGANISATION}/organisation_running_sandboxes", 1)
    assert_reached(
        await client.post(STARTS, json={"llm_profile": "demo"}),
        "organisation_running_sandboxes",
        1,
        "organisation",
    )
    await set_start(app, second, status=StartStatus.READY)
    async with app.database.session() as session:
        (await session.get_one(Sandbox, second)).status = SandboxStatus.PAUSED
    assert (await client.post(STARTS, json={"llm_profile": "demo"})).status_code == 200


async def test_a_quota_of_model_calls_holds_beside_the_limit_of_the_server() -> None:
    room, user_id = CallCapacity(wait_seconds=0.01), UUID(int=7)
    quota = LevelValue(Level.TEAM, 1, team_name="Core")
    slot = await room.enter(None, user_id, quota)
    with pytest.raises(TooManyRequests, match="The team 'Core' has set it") as refused:
        await room.enter(None, user_id, quota)
    assert (refused.value.code, refused.value.extra["limit"]) == ("quota_reached", 1)
    slot.leave()
    (await room.enter(None, user_id, quota)).leave()


async def test_a_conversation_with_its_number_of_events_gets_no_message_and_no_model_call(
    app: App, client: httpx.AsyncClient, ada: httpx.AsyncClient, inner: httpx.AsyncClient
) -> None:
    id_ = await start(ada)
    await _has_sandbox(app, ada, id_, SandboxStatus.RUNNING)
    await set_start(app, id_, status=StartStatus.READY)
    async with app.database.session() as session:
        (await session.get_one(Sandbox, id_)).session_key_hash = token_hash("the-key")
        (await session.get_one(Conversation, id_)).last_seq = 7

    async def call() -> httpx.Response:
        path = f"/llm/mine/conversations/{id_}/v1/chat/completions"
        return await inner.post(path, json={}, headers={"X-Session-API-Key": "the-key"})

    await put(client, f"{ORGANISATION}/events_per_conversation", 8)
    assert (await call()).json()["code"] != "quota_reached"
    await put(client, f"{ORGANISATION}/events_per_conversation", 7)
    refused = await ada.post(f"{STARTS}/{id_}/send-message", json=MESSAGE)
    body = assert_reached(refused, "events_per_conversation", 7, "organisation")
    assert "new conversation" in str(body["fix"])
    assert_problem(await call(), 403, "quota_reached")


async def test_what_is_kept_counts_for_a_person_and_for_everyone(
    app: App, client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    id_ = await start(ada)
    await _has_sandbox(app, ada, id_, SandboxStatus.PAUSED)
    async with app.database.session() as session:
        user_id = UUID(ada.headers["X-Test-User"])
        (await session.get_one(Conversation, id_)).log_size = 1024**3 // 2
        archive = Archive(
            id=uuid4(),
            sandbox_id=id_,
            user_id=user_id,
            kind=ArchiveKind.SNAPSHOT,
            size_bytes=1024**3 // 2,
            sha256="",
        )
        session.add(archive)
    await put(client, f"{ORGANISATION}/storage_gib", 2)
    await start(ada)
    await put(client, f"{ORGANISATION}/storage_gib", 1)
    assert_reached(await ada.post(STARTS, json={}), "storage_gib", 1, "organisation")
    snapshot = await ada.post(f"/api/v1/sandboxes/{id_}/snapshots", json={"name": "one"})
    assert_reached(snapshot, "storage_gib", 1, "organisation")
    assert (await client.post(STARTS, json={"llm_profile": "demo"})).status_code == 200
    await put(client, f"{ORGANISATION}/organisation_storage_gib", 1)
    refused = await client.post(STARTS, json={"llm_profile": "demo"})
    assert_reached(refused, "organisation_storage_gib", 1, "organisation")
    async with app.database.session() as session:
        await session.delete(await session.get_one(Archive, archive.id))
    await start(ada)


def test_a_spending_limit_says_who_set_it_and_when_it_frees() -> None:
    account = SpendingAccount(
        period=Period.MONTH, allowed=5_000_000, raised=0, spent=5_000_000, follows_default=True
    )
    refused = reached(account, 0)
    frees_at = datetime.fromisoformat(str(refused.extra["frees_at"]))
    assert (refused.extra["limit"], refused.extra["set_by"]) == (5.0, "administrator")
    assert (frees_at.day, frees_at.hour) == (1, 0)
    assert now() < frees_at < now() + timedelta(days=32)


async def _sleeps(app: App, client: httpx.AsyncClient, id_: UUID) -> None:
    """Sets the conversation to READY, and stores a sleeping sandbox for it."""
    await set_start(app, id_, status=StartStatus.READY)
    await _has_sandbox(app, client, id_, SandboxStatus.PAUSED)


async def _has_sandbox(app: App, client: httpx.AsyncClient, id_: UUID, status: SandboxStatus) -> None:
    user_id = UUID(client.headers["X-Test-User"])
    async with app.database.session() as session:
        sandbox = await app.state["sandboxes"].create(session, sandbox_id=id_, user_id=user_id)
        sandbox.status = status
