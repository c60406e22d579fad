"""Tests of settings of the organisation, of teams and of people: which value is used, and which values a
lower level cannot override.
"""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from alembic import command
from sqlalchemy import column, insert, select, table
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.audit.models import AuditEntry
from app_server.core.database import Base, Database, now
from app_server.core.migrations import alembic_config, migrate
from app_server.levels.models import LevelSetting
from app_server.llm_gateway.limits.models import SpendingAccount
from app_server.settings.models import UserSettings
from app_server.users.models import Role, User
from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem
from tests.app_server.sandbox_keys import Keys, keys
from tests.app_server.sharing.test_sharing import person
from tests.app_server.teams.test_teams import new_team
from tests.support.scripted_llm import ScriptedLLM, say

__all__ = ["keys"]

pytestmark = pytest.mark.both_databases

LEVELS = "/api/v1/settings/levels"
CONFIRMATION = "/api/v1/settings/confirmation"
ADMINISTRATION = "/api/v1/administration/settings"
ORGANISATION = f"{ADMINISTRATION}/organisation"
PROFILES = "/api/v1/settings/profiles"
STARTS = "/api/v1/app-conversations"


@pytest.fixture
async def ada(app: App) -> AsyncIterator[httpx.AsyncClient]:
    """Yields the HTTP client of a member, Ada, who has a model profile."""
    async with person(app, "Ada") as client:
        llm = {"model": "openai/gpt-5", "api_key": "of-ada"}
        (await client.post(f"{PROFILES}/mine", json={"llm": llm})).raise_for_status()
        yield client


async def put(client: httpx.AsyncClient, path: str, value: object, *, enforced: bool = False) -> None:
    reply = await client.put(path, json={"value": value, "enforced": enforced})
    assert reply.status_code == 200, reply.text


async def effective(client: httpx.AsyncClient, name: str) -> dict[str, Any]:
    settings: list[dict[str, Any]] = (await client.get(LEVELS)).raise_for_status().json()
    return next(one for one in settings if one["name"] == name)


async def mode(client: httpx.AsyncClient) -> str | None:
    found: str | None = (await client.get(CONFIRMATION)).raise_for_status().json()["mode"]
    return found


async def test_a_person_overrides_a_team_which_overrides_the_organisation(
    client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    team = f"{ADMINISTRATION}/teams/{await new_team(client, 'Core', ada)}/confirmation_mode"
    await put(client, f"{ORGANISATION}/confirmation_mode", "always")
    assert (await mode(ada), await mode(client)) == ("always", "always")
    await put(client, team, "risky")
    assert (await mode(ada), await mode(client)) == ("risky", "always")
    assert (await ada.put(CONFIRMATION, json={"mode": "never"})).json()["mode"] == "never"
    setting = await effective(ada, "confirmation_mode")
    assert (setting["level"], setting["value"], setting["enforced"]) == ("user", "never", False)
    assert [(one["level"], one["team_name"], one["value"]) for one in setting["overridden"]] == [
        ("team", "Core", "risky"),
        ("organisation", None, "always"),
    ]
    organisation, of_team = (await client.get(ADMINISTRATION)).json()
    assert (organisation["overriding_teams"], organisation["overriding_people"]) == (["Core"], 1)
    assert (of_team["overriding_teams"], of_team["overriding_people"]) == ([], 1)

    assert (await ada.put(CONFIRMATION, json={"mode": None})).json()["mode"] == "risky"
    assert (await client.delete(team)).status_code == 204
    assert (await client.delete(f"{ORGANISATION}/confirmation_mode")).status_code == 204
    assert await mode(ada) is None


async def test_an_enforced_value_holds_and_is_named_in_the_refusal(
    client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    await ada.put(CONFIRMATION, json={"mode": "never"})
    team = f"{ADMINISTRATION}/teams/{await new_team(client, 'Core', ada)}/confirmation_mode"
    await put(client, team, "risky", enforced=True)
    refused = await ada.put(CONFIRMATION, json={"mode": "never"})
    assert_problem(refused, 403, "setting_enforced")
    assert (refused.json()["set_by"], refused.json()["team"]) == ("team", "Core")
    await put(client, f"{ORGANISATION}/confirmation_mode", "always", enforced=True)
    assert await mode(ada) == "always"
    for reply in (
        await ada.put(CONFIRMATION, json={"mode": None}),
        await ada.post("/api/v1/settings", json={"conversation_settings_diff": {"confirmation_mode": False}}),
        await ada.post(STARTS, json={"confirmation_mode": "never"}),
    ):
        assert_problem(reply, 403, "setting_enforced")
    assert (await ada.put(CONFIRMATION, json={"mode": "always"})).status_code == 200
    await client.delete(f"{ORGANISATION}/confirmation_mode")
    await client.delete(team)
    assert await mode(ada) == "never", "what the person had chosen is still there"


async def test_settings_that_are_sent_back_as_they_were_read_do_not_become_the_persons(
    client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    await put(client, f"{ORGANISATION}/max_iterations", 40)
    await put(client, f"{ORGANISATION}/commit_trailer", "assisted_by", enforced=True)
    read = (await ada.get("/api/v1/settings")).json()
    assert read["conversation_settings"]["max_iterations"] == 40
    assert read["commit_trailer"] == "assisted_by"
    back = {
        "conversation_settings_diff": read["conversation_settings"],
        "commit_trailer": read["commit_trailer"],
        "sandbox_grouping_strategy": read["sandbox_grouping_strategy"],
    }
    assert (await ada.post("/api/v1/settings", json=back)).status_code == 200
    await put(client, f"{ORGANISATION}/max_iterations", 41)
    assert (await effective(ada, "max_iterations"))["value"] == 41


async def test_a_start_fetches_what_the_settings_say_and_cannot_differ_from_an_enforced_value(
    app: App, client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    await app.state["start_worker"].close()

    async def fetched(**fields: object) -> tuple[str, bool]:
        reply = (await ada.post(STARTS, json=fields)).raise_for_status().json()["request"]
        return reply["clone"], reply["submodules"]

    async def shown() -> tuple[str, bool]:
        read = (await ada.get("/api/v1/settings")).json()
        return read["clone"], read["submodules"]

    assert await fetched() == await shown() == ("full", True)
    team = f"{ADMINISTRATION}/teams/{await new_team(client, 'Core', ada)}"
    await put(client, f"{ORGANISATION}/clone", "shallow")
    await put(client, f"{team}/submodules", False)
    assert await fetched() == await shown() == ("shallow", False)
    (await ada.post("/api/v1/settings", json={"clone": "blobless", "submodules": True})).raise_for_status()
    assert await fetched() == await shown() == ("blobless", True)
    assert await fetched(clone="full", submodules=False) == ("full", False)
    await put(client, f"{ORGANISATION}/clone", "shallow", enforced=True)
    await put(client, f"{team}/submodules", False, enforced=True)
    assert await fetched() == await fetched(clone="shallow", submodules=False) == ("shallow", False)
    for fields in ({"clone": "full"}, {"submodules": True}):
        assert_problem(await ada.post(STARTS, json=fields), 403, "setting_enforced")
        assert_problem(await ada.post("/api/v1/settings", json=fields), 403, "setting_enforced")


async def test_only_administrators_set_values_and_only_possible_ones(
    app: App, client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    path = f"{ORGANISATION}/max_iterations"
    body = {"value": 3}
    for refused in (await ada.get(ADMINISTRATION), await ada.put(path, json=body), await ada.delete(path)):
        assert_problem(refused, 403, "permission_missing")
    for name, value in (
        ("max_iterations", 0),
        ("max_iterations", "many"),
        ("confirmation_mode", "sometimes"),
        ("max_budget_per_task", -1),
        ("clone", "half"),
        ("submodules", "no"),
        ("colour", "red"),
    ):
        reply = await client.put(f"{ORGANISATION}/{name}", json={"value": value})
        assert reply.status_code == 422, (name, value, reply.text)
    team = f"{ADMINISTRATION}/teams/{uuid4()}/max_iterations"
    assert_problem(await client.put(team, json=body), 404, "team_not_found")
    assert_problem(await client.delete(path), 404, "setting_not_set")
    await put(client, path, 3, enforced=True)
    await client.delete(path)
    async with app.database.read() as session:
        told = await session.scalars(
            select(AuditEntry.details).where(AuditEntry.action == "setting.changed").order_by(AuditEntry.id)
        )
        assert list(told) == [
            {"level": "organisation", "change": "set", "value": 3, "enforced": True},
            {"level": "organisation", "change": "deleted"},
        ]


async def test_the_settings_of_a_deleted_team_are_gone(
    client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    team_id = await new_team(client, "Core", ada)
    await put(client, f"{ADMINISTRATION}/teams/{team_id}/confirmation_mode", "always", enforced=True)
    await client.delete(f"/api/v1/teams/{team_id}")
    assert await mode(ada) is None
    assert (await client.get(ADMINISTRATION)).json() == []


async def test_an_enforced_budget_is_the_most_that_a_task_gets(
    app: App, client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    await app.state["start_worker"].close()

    async def budget(**request: object) -> float | None:
        reply = await ada.post(STARTS, json=request)
        assert reply.status_code == 200, reply.text
        async with app.database.read() as session:
            account = await session.get_one(SpendingAccount, UUID(reply.json()["id"]))
        return None if account.allowed is None else account.allowed / 1_000_000

    await put(client, f"{ORGANISATION}/max_budget_per_task", 2)
    assert [await budget(), await budget(max_budget_per_task=9)] == [2, 9]
    await put(client, f"{ORGANISATION}/max_budget_per_task", 2, enforced=True)
    assert [await budget(), await budget(max_budget_per_task=1)] == [2, 1]
    assert_problem(await ada.post(STARTS, json={"max_budget_per_task": 3}), 403, "setting_enforced")


async def test_an_enforced_model_is_the_only_one_that_agents_call(
    app: App,
    client: httpx.AsyncClient,
    inner: httpx.AsyncClient,
    keys: Keys,
    ada: httpx.AsyncClient,
    scripted_llm: ScriptedLLM,
) -> None:
    llm = {"model": "openai/gpt-5", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    for who, name in ((client, "ours"), (client, "other"), (ada, "ours")):
        assert (await who.post(f"{PROFILES}/{name}", json={"llm": llm})).status_code == 201
    path = f"{ORGANISATION}/llm_profile"
    missing = await client.put(path, json={"value": "ours", "enforced": True})
    assert_problem(missing, 404, "llm_profile_not_found")
    await client.put("/api/v1/settings/shared-profiles/ours")
    assert_problem(await client.put(path, json={"value": "ours"}), 400, "setting_must_be_enforced")
    await put(client, path, "ours", enforced=True)

    listed = (await ada.get(PROFILES)).json()
    assert (listed["active_profile"], listed["callable_profiles"]) == ("ours", ["ours"])
    for reply in (
        await ada.post(STARTS, json={"llm_profile": "mine"}),
        await ada.post(f"{PROFILES}/mine/activate"),
    ):
        assert_problem(reply, 403, "setting_enforced")
    for taken_away in (
        await client.delete("/api/v1/settings/shared-profiles/ours"),
        await client.delete(f"{PROFILES}/ours"),
        await client.post(f"{PROFILES}/ours/rename", json={"new_name": "theirs"}),
    ):
        assert_problem(taken_away, 409, "llm_profile_enforced")

    scripted_llm.script(say("Blue."))
    body = {"messages": [{"role": "user", "content": "Which colour?"}]}
    calls = {
        name: await inner.post(f"/llm/{name}/v1/chat/completions", json=body, headers=keys.own)
        for name in ("other", "ours")
    }
    assert_problem(calls["other"], 403, "setting_enforced")
    assert calls["ours"].status_code == 200, calls["ours"].text
    assert len(scripted_llm.requests) == 1


async def test_settings_of_before_become_those_of_their_users(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    try:
        await migrate(database)
        await _step(database, "narrow_indexes")
        user_id = uuid4()
        async with database.session() as session:
            await _insert(session, User, id=user_id, name="Ada", role=Role.MEMBER, created_at=now())
            values = {"confirmation_mode": "always", "max_iterations": 7, "registered_marketplaces": []}
            await _insert(session, UserSettings, user_id=user_id, **values)
        await migrate(database)
        async with database.read() as session:
            rows = (await session.scalars(select(LevelSetting).order_by(LevelSetting.name))).all()
        found = [(row.name, row.value, row.level, row.owner_id, row.user_id) for row in rows]
        assert found == [
            ("confirmation_mode", "always", "user", user_id, user_id),
            ("max_iterations", 7, "user", user_id, user_id),
        ]
        await _step(database, "narrow_indexes")
        async with database.read() as session:
            settings = table("user_settings", column("confirmation_mode"), column("max_iterations"))
            assert (await session.execute(select(settings))).all() == [("always", 7)]
    finally:
        await database.close()


async def _step(database: Database, revision: str) -> None:
    async with database.engine.begin() as connection:
        await connection.run_sync(lambda each: command.downgrade(alembic_config(each), revision))


async def _insert(session: AsyncSession, model: type[Base], **values: object) -> None:
    # Names only these columns, because the table can have others at another revision.
    types = model.__table__.c
    columns = [column(name, types[name].type if name in types else None) for name in values]
    await session.execute(insert(table(model.__tablename__, *columns)).values(values))
