"""Tests of API keys whose scopes are narrower than the role of their user: they do not change what the user
has set for other users, too.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from app_server.users.models import Role
from tests.app_server.access.conftest import Two, account, names, team
from tests.app_server.conftest import http_client
from tests.app_server.problems import assert_problem
from tests.app_server.sharing.test_sharing import new_conversation

CALLBACKS = "/api/v1/callbacks"
CREDENTIALS = "/api/v1/settings/network/credentials"
PROFILES = "/api/v1/settings/profiles"
SHARED = "/api/v1/settings/shared-profiles"
OUTSIDE = "https://receiver.example.com/x"


@asynccontextmanager
async def narrowed(two: Two, *scopes: str) -> AsyncIterator[httpx.AsyncClient]:
    """Yields an HTTP client with an API key of the owner that has only these scopes."""
    made = await two.client.post("/api/v1/api-keys", json={"name": "ci", "scopes": list(scopes)})
    made.raise_for_status()
    async with http_client(
        two.app.public, headers={"Authorization": f"Bearer {made.json()['key']}"}
    ) as client:
        yield client


async def test_a_key_without_administer_does_not_change_a_callback_for_everyone(two: Two) -> None:
    body = {"name": "siem", "url": OUTSIDE, "is_for_everyone": True}
    added = (await two.client.post(CALLBACKS, json=body)).raise_for_status().json()
    own = (await two.client.post(CALLBACKS, json={"name": "mine", "url": OUTSIDE})).raise_for_status().json()
    path = f"{CALLBACKS}/{added['id']}"
    async with narrowed(two, "read", "settings") as limited:
        moved = await limited.patch(path, json={"url": "https://elsewhere.example.com/x"})
        assert_problem(moved, 403, "permission_missing")
        rotated = await limited.post(f"{path}/rotate-secret", json={"keep_previous_hours": 0})
        assert_problem(rotated, 403, "permission_missing")
        redelivered = await limited.post(f"{path}/deliveries/{added['id']}/redeliver")
        assert_problem(redelivered, 403, "permission_missing")
        assert_problem(await limited.delete(path), 403, "permission_missing")
        mine = f"{CALLBACKS}/{own['id']}"
        assert (await limited.patch(mine, json={"name": "still mine"})).status_code == 200
        assert (await limited.delete(mine)).status_code == 204
    [shown] = (await two.client.get(CALLBACKS)).json()
    assert (shown["host"], shown["previous_secret_until"]) == ("receiver.example.com", None)
    async with narrowed(two, "read", "settings", "administer") as able:
        assert (await able.patch(path, json={"name": "renamed"})).status_code == 200
        assert (await able.delete(path)).status_code == 204


async def test_a_key_without_administer_does_not_change_a_shared_profile(two: Two) -> None:
    llm = {"model": "openai/gpt-4.1", "api_key": "sk-real-key-1234567890"}
    (await two.client.post(f"{PROFILES}/team", json={"llm": llm})).raise_for_status()
    (await two.client.post(f"{PROFILES}/team/activate")).raise_for_status()
    (await two.client.put(f"{SHARED}/team")).raise_for_status()
    elsewhere = {"base_url": "https://evil.example.com/v1", "api_key": "x"}
    async with narrowed(two, "read", "settings") as limited:
        redirected = await limited.post(f"{PROFILES}/team", json={"llm": {**llm, **elsewhere}})
        assert_problem(redirected, 403, "permission_missing")
        renamed = await limited.post(f"{PROFILES}/team/rename", json={"new_name": "other"})
        assert_problem(renamed, 403, "permission_missing")
        assert_problem(await limited.delete(f"{PROFILES}/team"), 403, "permission_missing")
        diff = {"agent_settings_diff": {"llm": elsewhere}}
        assert_problem(await limited.post("/api/v1/settings", json=diff), 403, "permission_missing")
        assert (await limited.post(f"{PROFILES}/mine", json={"llm": llm})).status_code == 201
        assert (await limited.delete(f"{PROFILES}/mine")).status_code == 200
    shown = (await two.client.get(f"{PROFILES}/team")).json()
    assert (shown["base_url"], shown["is_shared"]) == (None, True)
    async with narrowed(two, "read", "settings", "administer") as able:
        changed = await able.post(f"{PROFILES}/team", json={"llm": {**llm, **elsewhere}})
        assert changed.status_code == 201, changed.text
        assert (await able.delete(f"{PROFILES}/team")).status_code == 200


async def test_a_person_who_administers_no_more_can_change_what_was_for_everyone(two: Two) -> None:
    body = {"name": "siem", "url": OUTSIDE, "is_for_everyone": True}
    llm = {"model": "openai/gpt-4.1", "api_key": "sk-real-key-1234567890"}
    admin = await account(two, two.grace)
    role = f"/api/v1/people/{admin.id}"
    (await two.client.patch(role, json={"role": Role.ADMIN})).raise_for_status()
    added = (await two.grace.post(CALLBACKS, json=body)).raise_for_status().json()
    for name in ("mine", "team"):
        (await two.grace.post(f"{PROFILES}/{name}", json={"llm": llm})).raise_for_status()
    (await two.grace.put(f"{SHARED}/team")).raise_for_status()
    (await two.client.patch(role, json={"role": Role.MEMBER})).raise_for_status()
    assert (await two.grace.delete(f"{CALLBACKS}/{added['id']}")).status_code == 204
    assert (await two.grace.delete(f"{PROFILES}/team")).status_code == 200


async def test_a_key_without_installation_does_not_change_credentials_of_the_server(two: Two) -> None:
    given = {"host": "api.example.com", "scope": "server", "kind": "bearer", "value": "a-token-1234567890"}
    async with narrowed(two, "read", "settings") as limited:
        assert_problem(await limited.post(CREDENTIALS, json=given), 403, "permission_missing")
        own = await limited.post(CREDENTIALS, json={**given, "scope": "user"})
        assert own.status_code == 201, own.text
        saved = (await two.client.post(CREDENTIALS, json=given)).raise_for_status().json()
        path = f"{CREDENTIALS}/{saved['id']}"
        assert_problem(await limited.delete(path), 403, "permission_missing")
        shown = {one["scope"]: one["is_own"] for one in (await limited.get(CREDENTIALS)).json()}
        assert shown == {"server": False, "user": True}
    async with narrowed(two, "read", "settings", "installation") as able:
        assert (await able.delete(path)).status_code == 204
    assert_problem(await two.grace.post(CREDENTIALS, json=given), 403, "forbidden")


async def test_a_key_without_administer_shares_only_with_teams_of_its_user(two: Two) -> None:
    hidden = await team(two.client, "Harbour", two.grace)
    conversation_id = await new_conversation(two.app, two.owner)
    path = f"/api/v1/app-conversations/{conversation_id}/sharing"
    async with narrowed(two, "read", "work") as limited:
        assert await names(limited, f"{path}/candidates?query=harb") == []
        shared = await limited.put(f"{path}/teams/{hidden}", json={"access": "view"})
        assert_problem(shared, 404, "team_not_found")
    assert await names(two.client, f"{path}/candidates?query=harb") == ["Harbour"]
    shared = await two.client.put(f"{path}/teams/{hidden}", json={"access": "view"})
    assert shared.status_code == 200, shared.text
