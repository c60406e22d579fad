"""Tests of shared model profiles: people use a model that an administrator shares, and see neither its key
nor its address.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import httpx
import pytest

from app_server.users.models import Role
from tests.app_server.access.test_people import invite, signed_in
from tests.app_server.conftest import App
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem
from tests.support.ports import free_port
from tests.support.scripted_llm import ScriptedLLM, say

PROFILES = "/api/v1/settings/profiles"
SPENDING = "/api/v1/settings/spending-limit"
SHARED = "/api/v1/settings/shared-profiles"


async def add(client: httpx.AsyncClient, vendor: ScriptedLLM, name: str = "ours", **llm: object) -> None:
    settings = {
        "model": "openai/gpt-5",
        "base_url": vendor.base_url,
        "api_key": vendor.api_key,
        "extra_headers": {"X-Team": "harbour"},
        "extra_body": {"service_tier": "flex"},
    }
    saved = await client.post(f"{PROFILES}/{name}", json={"llm": {**settings, **llm}})
    assert saved.status_code == 201, saved.text


async def share(client: httpx.AsyncClient, name: str = "ours") -> None:
    reply = await client.put(f"{SHARED}/{name}")
    assert reply.status_code == 200, reply.text
    assert reply.json()["is_shared"]


@asynccontextmanager
async def person(
    app: App, client: httpx.AsyncClient, role: str = "member"
) -> AsyncIterator[httpx.AsyncClient]:
    invitation = await invite(client, "Ada", role)
    async with signed_in(app, invitation["sign_in_link"]) as browser:
        yield browser


async def has_spent(client: httpx.AsyncClient) -> bool:
    """Returns whether the cost of a call has been recorded, which happens shortly after its reply."""
    spent: float = (await client.get(SPENDING)).json()["spent"]
    return spent > 0


async def active(client: httpx.AsyncClient) -> str | None:
    name: str | None = (await client.get(PROFILES)).json()["active_profile"]
    return name


async def test_people_without_a_model_get_the_shared_one(
    app: App, client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    await add(client, scripted_llm)
    async with person(app, client) as early:
        assert await active(early) == "demo"
        await share(client)
        assert await active(early) == "ours"
        async with person(app, client) as late:
            assert await active(late) == "ours"

        assert (await early.post(f"{PROFILES}/demo/activate")).status_code == 200
        assert await active(early) == "demo"
        assert (await early.post(f"{PROFILES}/ours/activate")).status_code == 200
        assert await active(early) == "ours"
    assert await active(client) == "ours"


async def test_a_member_uses_it_and_pays_and_sees_neither_key_nor_address(
    app: App, client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    await add(client, scripted_llm)
    await share(client)
    scripted_llm.script(say("Blue."), say("OK", cached_tokens=90))
    async with person(app, client) as ada:
        shown = (await ada.get(f"{PROFILES}/ours")).json()
        tried = await ada.post(f"{PROFILES}/ours/test")
        assert tried.status_code == 200, (
            "its address is beside this server, where an administrator has put it"
        )
        assert tried.json()["answers"]
        await eventually(partial(has_spent, ada))
        everything = (await ada.get("/api/v1/settings")).text + (await ada.get(PROFILES)).text
    assert {asked.headers["x-team"] for asked in scripted_llm.requests} == {"harbour"}
    assert (shown["is_own"], shown["is_shared"], shown["model"]) == (False, True, "openai/gpt-5")
    assert (shown["base_url"], shown["extra_header_names"], shown["extra_body"]) == (None, [], {})
    assert shown["config"]["base_url"] is None
    for secret in (scripted_llm.base_url, scripted_llm.api_key, "X-Team", "flex"):
        assert secret not in everything
    assert (await client.get(SPENDING)).json()["spent"] == 0


async def test_a_failure_names_the_address_to_its_owner_alone(
    app: App, client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    await add(client, scripted_llm, base_url=f"http://{nowhere}/v1")
    await share(client)
    assert nowhere in (await client.post(f"{PROFILES}/ours/test")).json()["detail"]
    async with person(app, client) as ada:
        failed = await ada.post(f"{PROFILES}/ours/test")
    assert_problem(failed, 502, "llm_vendor_unreachable")
    assert nowhere not in failed.text
    assert "Ask the administrator" in failed.json()["fix"]


@pytest.mark.parametrize("role", ["member", "viewer"])
async def test_only_administrators_share(
    app: App, client: httpx.AsyncClient, scripted_llm: ScriptedLLM, role: str
) -> None:
    await add(client, scripted_llm)
    await share(client)
    async with person(app, client, role) as ada:
        assert_problem(await ada.put(f"{SHARED}/demo"), 403, "permission_missing")
        assert_problem(await ada.delete(f"{SHARED}/ours"), 403, "permission_missing")


async def test_a_member_changes_nothing_of_it_and_copies_no_key(
    app: App, client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    await add(client, scripted_llm)
    await share(client)
    async with person(app, client) as ada:
        assert_problem(await ada.delete(f"{PROFILES}/ours"), 404, "llm_profile_not_found")
        renamed = await ada.post(f"{PROFILES}/ours/rename", json={"new_name": "mine"})
        assert_problem(renamed, 404, "llm_profile_not_found")
        assert_problem(await ada.post(f"{PROFILES}/copy", json={}), 409, "llm_profile_shared")
        url = f"{scripted_llm.base_url}"
        listed = await ada.post("/api/v1/settings/models", json={"profile": "ours", "base_url": url})
        assert listed.status_code != 200
    assert scripted_llm.requests == []


async def test_a_users_profile_hides_a_shared_one_with_the_same_name(
    app: App, client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    await add(client, scripted_llm)
    await share(client)
    async with person(app, client) as ada:
        made = await ada.post(
            f"{PROFILES}/ours", json={"llm": {"model": "openai/gpt-4.1", "api_key": "mine"}}
        )
        assert made.status_code == 201, made.text
        shown = (await ada.get(f"{PROFILES}/ours")).json()
        assert (shown["is_own"], shown["model"]) == (True, "openai/gpt-4.1")
        names = [one["name"] for one in (await ada.get(PROFILES)).json()["profiles"]]
        assert names == ["demo", "ours"]


@pytest.mark.both_databases
async def test_what_is_shared_no_more_is_gone_for_others(
    app: App, client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    await add(client, scripted_llm)
    await add(client, scripted_llm, "second")
    await share(client)
    async with person(app, client) as ada:
        assert (await client.delete(f"{SHARED}/ours")).status_code == 200
        assert await active(ada) == "demo"
        assert_problem(await ada.get(f"{PROFILES}/ours"), 404, "llm_profile_not_found")
        assert_problem(await client.delete(f"{SHARED}/ours"), 404, "llm_profile_not_found")
        await share(client, "second")
        assert await active(ada) == "second"
        await client.delete(f"{PROFILES}/second")
        assert await active(ada) == "demo"


async def test_what_an_administrator_shares_ends_with_the_role(
    app: App, client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    invitation = await invite(client, "Bo", "admin")
    async with person(app, client) as ada, signed_in(app, invitation["sign_in_link"]) as admin:
        await add(admin, scripted_llm)
        await share(admin)
        assert await active(ada) == "ours"
        demoted = await client.patch(
            f"/api/v1/people/{invitation['person']['id']}", json={"role": str(Role.MEMBER)}
        )
        assert demoted.status_code == 200, demoted.text
        assert await active(ada) == "demo"
        assert_problem(await admin.post(f"{PROFILES}/ours/test"), 403, "private_address")


@pytest.mark.both_databases
async def test_two_shared_profiles_have_two_names(
    app: App, client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    await add(client, scripted_llm)
    await share(client)
    async with person(app, client, "admin") as admin:
        await add(admin, scripted_llm)
        assert_problem(await admin.put(f"{SHARED}/ours"), 409, "shared_profile_exists")
        assert_problem(await admin.put(f"{SHARED}/demo"), 409, "llm_profile_built_in")
        assert_problem(await admin.put(f"{SHARED}/nothing"), 404, "llm_profile_not_found")
