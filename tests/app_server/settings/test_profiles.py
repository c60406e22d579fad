import asyncio
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from app_server.settings.models import LLMProfile
from app_server.users.models import Role
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client
from tests.app_server.problems import assert_problem

PROFILES = "/api/v1/settings/profiles"
CANARY = "sk-canary-3f1b"


async def save(client: httpx.AsyncClient, name: str, **llm: object) -> httpx.Response:
    return await client.post(f"{PROFILES}/{name}", json={"llm": {"model": "openai/gpt-x", **llm}})


async def active(client: httpx.AsyncClient) -> object:
    return (await client.get(PROFILES)).json()["active_profile"]


async def test_a_new_user_starts_with_the_demo(client: httpx.AsyncClient) -> None:
    demo = {
        "name": "demo",
        "model": "recorded/fix-failing-test",
        "base_url": None,
        "api_key_set": False,
        "max_budget_per_task": None,
        "input_cost_per_token": None,
        "output_cost_per_token": None,
        "is_recording": True,
    }
    listed = (await client.get(PROFILES)).json()
    assert listed["active_profile"] == "demo"
    assert [demo.items() <= profile.items() for profile in listed["profiles"]] == [True]


async def test_the_first_real_model_becomes_active_and_later_ones_do_not(client: httpx.AsyncClient) -> None:
    assert (await save(client, "first", api_key=CANARY)).status_code == 201
    assert await active(client) == "first"
    await save(client, "second")
    assert await active(client) == "first"
    await client.post(f"{PROFILES}/demo/activate")
    await save(client, "first", base_url="http://localhost:11434/v1")
    await save(client, "third")
    assert await active(client) == "demo"


async def test_a_key_goes_in_and_never_comes_out(client: httpx.AsyncClient, app: App) -> None:
    saved = await save(client, "mine", api_key=CANARY)
    assert saved.json()["api_key_set"] is True
    for path in (PROFILES, f"{PROFILES}/mine"):
        assert CANARY not in (await client.get(path)).text
    async with app.database.read() as session:
        row = (await session.scalars(select(LLMProfile).where(LLMProfile.name == "mine"))).one()
    assert row.api_key_encrypted is not None
    assert CANARY not in row.api_key_encrypted
    assert app.state["cipher"].decrypt(row.api_key_encrypted) == CANARY


async def test_a_key_left_out_is_kept_and_an_empty_one_clears_it(client: httpx.AsyncClient) -> None:
    await save(client, "mine", api_key=CANARY)
    assert (await save(client, "mine", model="openai/other")).json()["api_key_set"] is True
    assert (await save(client, "mine", api_key=None)).json()["api_key_set"] is True
    assert (await save(client, "mine", api_key="")).json()["api_key_set"] is False


@pytest.mark.parametrize(
    "elsewhere", [{"base_url": "https://elsewhere.example/v1"}, {"model": "anthropic/claude-x"}]
)
async def test_a_stored_key_is_never_sent_to_another_address(
    client: httpx.AsyncClient, elsewhere: dict[str, str]
) -> None:
    await save(client, "mine", api_key=CANARY)
    assert_problem(await save(client, "mine", **elsewhere), 409, "api_key_needed")
    assert (await save(client, "mine", api_key="another", **elsewhere)).is_success


async def test_a_profile_can_be_renamed_activated_and_deleted(client: httpx.AsyncClient) -> None:
    await save(client, "a")
    await save(client, "b")
    assert (await client.post(f"{PROFILES}/b/activate")).json()["name"] == "b"
    renamed = await client.post(f"{PROFILES}/b/rename", json={"new_name": "c"})
    assert renamed.json()["name"] == "c"
    assert await active(client) == "c"
    deleted = await client.delete(f"{PROFILES}/c")
    assert (deleted.status_code, deleted.json()["name"]) == (200, "c")
    assert await active(client) == "a"
    assert (await client.delete(f"{PROFILES}/a")).status_code == 200
    assert await active(client) == "demo"
    for reply in (
        await client.get(f"{PROFILES}/a"),
        await client.delete(f"{PROFILES}/a"),
        await client.post(f"{PROFILES}/a/activate"),
        await client.post(f"{PROFILES}/a/rename", json={"new_name": "z"}),
    ):
        assert_problem(reply, 404, "llm_profile_not_found")


@pytest.mark.both_databases
async def test_a_taken_name_is_refused(client: httpx.AsyncClient) -> None:
    await save(client, "a")
    await save(client, "b")
    reply = await client.post(f"{PROFILES}/b/rename", json={"new_name": "a"})
    assert_problem(reply, 409, "llm_profile_exists")


@pytest.mark.both_databases
async def test_the_same_profile_made_twice_at_once_exists_once(client: httpx.AsyncClient) -> None:
    replies = await asyncio.gather(*(save(client, "same") for _ in range(6)))
    assert {reply.status_code for reply in replies} <= {201, 409}
    names = [each["name"] for each in (await client.get(PROFILES)).json()["profiles"]]
    assert sorted(names) == ["demo", "same"]
    assert await active(client) == "same"


async def test_the_demo_stays_as_it_is(client: httpx.AsyncClient) -> None:
    await save(client, "a")
    for reply in (
        await save(client, "demo"),
        await client.delete(f"{PROFILES}/demo"),
        await client.post(f"{PROFILES}/demo/rename", json={"new_name": "x"}),
        await client.post(f"{PROFILES}/a/rename", json={"new_name": "demo"}),
    ):
        assert_problem(reply, 409, "llm_profile_built_in")


async def test_profiles_of_others_do_not_exist(client: httpx.AsyncClient, app: App) -> None:
    await save(client, "mine", api_key=CANARY)
    async with app.database.session() as session:
        stranger = await create_user(session, name="Stranger", role=Role.MEMBER)
        _, key = await create_api_key(session, stranger, name="x")
    async with http_client(app.public, headers={"X-Session-API-Key": key}) as other:
        assert (await other.get(PROFILES)).json()["profiles"] == []
        assert_problem(await other.get(f"{PROFILES}/mine"), 404, "llm_profile_not_found")


@pytest.mark.parametrize(
    "llm",
    [
        {"model": ""},
        {"model": "two words"},
        {"model": "x" * 201},
        {"model": None},
        {"base_url": "ftp://x"},
        {"base_url": "not a url"},
        {"base_url": "http://user:pw@host/v1"},
        {"base_url": "http://host/v1?x=1"},
        {"api_key": 5},
        {"unknown": 1},
    ],
)
async def test_bad_settings_are_refused_without_repeating_them(
    client: httpx.AsyncClient, llm: dict[str, object]
) -> None:
    reply = await save(client, "x", **{"api_key": CANARY, **llm})
    assert_problem(reply, 422, "validation_failed")
    assert CANARY not in reply.text
    assert "user:pw" not in reply.text


@pytest.mark.parametrize("name", ["a b", "a%2Fb", "x" * 65, "ä", "%00"])
async def test_bad_names_are_refused(client: httpx.AsyncClient, name: str) -> None:
    reply = await save(client, name)
    assert reply.status_code in {400, 404, 405, 422}
    assert reply.headers["content-type"] == "application/problem+json"


async def test_an_unknown_recording_is_refused(client: httpx.AsyncClient) -> None:
    assert_problem(await save(client, "x", model="recorded/nothing"), 400, "recording_not_found")


@pytest.mark.both_databases
async def test_there_is_an_upper_limit(client: httpx.AsyncClient) -> None:
    for number in range(49):
        assert (await save(client, f"p{number}")).status_code == 201
    assert_problem(await save(client, "one-more"), 409, "too_many_llm_profiles")


async def test_the_model_in_use_is_copied_with_its_key_or_without(client: httpx.AsyncClient) -> None:
    llm = {"model": "openai/gpt-5", "base_url": "https://llm.acme.dev/v1", "api_key": "canary-key-99"}
    (await client.post(f"{PROFILES}/first", json={"llm": llm})).raise_for_status()

    async def copied(name: str, **how: bool) -> Any:
        reply = await client.post(f"{PROFILES}/{name}", json=how)
        assert reply.status_code == 201, reply.text
        return (await client.get(f"{PROFILES}/{name}")).json()

    whole, bare = await copied("whole"), await copied("bare", include_secrets=False)
    assert whole["config"] == bare["config"]
    assert whole["config"] | {"api_key": "canary-key-99"} == {**whole["config"], **llm}
    assert (whole["api_key_set"], bare["api_key_set"]) == (True, False)
    kept = await copied("whole", include_secrets=False, preserve_existing_api_key=True)
    assert kept["api_key_set"] is True
    unknown = await client.post(f"{PROFILES}/first", json={"llm": llm, "temperature": 1})
    assert_problem(unknown, 422, "validation_failed")


@pytest.mark.parametrize("key", ["sk-first\nsecond", "sk-\x7f", "schlüssel"])
async def test_a_key_that_no_header_can_carry_is_refused(client: httpx.AsyncClient, key: str) -> None:
    diff = {"agent_settings_diff": {"llm": {"api_key": key}}}
    listed = {"base_url": "http://127.0.0.1:9/v1", "api_key": key}
    for reply in (
        await save(client, "mine", api_key=key),
        await client.post("/api/v1/settings", json=diff),
        await client.post("/api/v1/settings/model-list", json=listed),
    ):
        assert_problem(reply, 422, "validation_failed")
        assert reply.json()["errors"][0]["loc"][-1] == "api_key"
        assert key not in reply.text
    assert (await client.get(f"{PROFILES}/mine")).status_code == 404


async def test_white_space_around_a_key_is_not_stored(client: httpx.AsyncClient, app: App) -> None:
    assert (await save(client, "mine", api_key=f"\t{CANARY} \r\n")).status_code == 201
    async with app.database.read() as session:
        row = (await session.scalars(select(LLMProfile).where(LLMProfile.name == "mine"))).one()
    assert row.api_key_encrypted is not None
    assert app.state["cipher"].decrypt(row.api_key_encrypted) == CANARY


@pytest.mark.parametrize("body", [b"", b"null", b"{}"])
async def test_without_settings_the_active_profile_is_copied(client: httpx.AsyncClient, body: bytes) -> None:
    await save(client, "first", api_key=CANARY, base_url="http://localhost:11434/v1")
    headers = {"content-type": "application/json"} if body else {}
    reply = await client.post(f"{PROFILES}/copy", content=body, headers=headers)
    assert reply.status_code == 201, reply.text
    copy = (await client.get(f"{PROFILES}/copy")).json()
    assert (copy["base_url"], copy["api_key_set"]) == ("http://localhost:11434/v1", True)
