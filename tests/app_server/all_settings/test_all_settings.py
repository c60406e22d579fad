"""Tests of the one document of all settings, which the OpenHands protocol defines."""

from typing import Any

import httpx
import pytest

from app_server.users.models import Role
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client
from tests.app_server.problems import assert_problem

SETTINGS = "/api/v1/settings"
KEY = "canary-key-3b1f"
MODEL = {"model": "openai/gpt-5", "api_key": KEY, "base_url": "https://llm.acme.dev/v1"}


async def read(client: httpx.AsyncClient) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(SETTINGS)).raise_for_status().json()
    return found


async def save(client: httpx.AsyncClient, **changes: Any) -> httpx.Response:
    return await client.post(SETTINGS, json=changes)


async def test_at_first_all_is_as_the_server_has_it(client: httpx.AsyncClient) -> None:
    found = await read(client)

    assert found["llm_api_key_set"] is False
    assert found["llm_profiles"]["active"] == "demo"
    assert found["sandbox_grouping_strategy"] == "NO_GROUPING"
    assert found["conversation_settings"] == {
        "schema_version": 1,
        "max_iterations": 500,
        "confirmation_mode": True,  # the default where sandboxes are processes, which do not isolate
        "security_analyzer": "llm",
    }
    assert found["provider_tokens_set"] == {}


async def test_a_model_is_set_and_its_key_never_comes_out(client: httpx.AsyncClient) -> None:
    saved = await save(client, agent_settings_diff={"llm": MODEL}, max_budget_per_task=2.5)
    assert (saved.status_code, saved.json()) == (200, {"message": "The settings are saved."})

    # A change of the price leaves the other fields as they are. A key of asterisks means that the stored key
    # stays.
    again = {"input_cost_per_token": 0.001, "api_key": "**********"}
    (await save(client, agent_settings_diff={"llm": again})).raise_for_status()
    found = await client.get(SETTINGS)

    assert KEY not in found.text
    shown = found.json()
    assert shown["agent_settings"]["llm"] == {
        "model": "openai/gpt-5",
        "base_url": "https://llm.acme.dev/v1",
        "api_key": None,
        "input_cost_per_token": 0.001,
        "output_cost_per_token": None,
    }
    assert (shown["llm_api_key_set"], shown["max_budget_per_task"]) == (True, 2.5)
    assert shown["llm_profiles"]["active"] == "default"
    assert set(shown["llm_profiles"]["profiles"]) == {"default", "demo"}
    elsewhere = await save(client, agent_settings_diff={"llm": {"base_url": "https://thief.dev/v1"}})
    assert_problem(elsewhere, 409, "api_key_needed")


async def test_what_holds_for_conversations_is_set(client: httpx.AsyncClient) -> None:
    async def mode() -> Any:
        return (await client.get(f"{SETTINGS}/confirmation")).json()["mode"]

    for asks, analyzer, expected in (
        (True, "none", "always"),
        (False, "llm", "never"),
        (True, "llm", "risky"),
    ):
        diff = {"confirmation_mode": asks, "security_analyzer": analyzer}
        (await save(client, conversation_settings_diff=diff)).raise_for_status()
        assert await mode() == expected
    (await save(client, conversation_settings_diff={"max_iterations": 20})).raise_for_status()
    (await save(client, git_user_name="Ada", git_user_email="ada@acme.dev")).raise_for_status()
    (await save(client, sandbox_grouping_strategy="ADD_TO_ANY")).raise_for_status()
    found = await read(client)

    assert await mode() == "risky"
    assert found["conversation_settings"]["max_iterations"] == 20
    assert (found["git_user_name"], found["git_user_email"]) == ("Ada", "ada@acme.dev")
    assert found["sandbox_grouping_strategy"] == "ADD_TO_ANY"
    (await save(client, git_user_name="")).raise_for_status()
    assert (await read(client))["git_user_name"] is None


async def test_how_commits_end_is_chosen_for_all_repositories_and_for_single_ones(
    client: httpx.AsyncClient,
) -> None:
    before = await read(client)
    assert (before["commit_trailer"], before["commit_trailers"]) == ("none", {})
    own = {"octo/app": "none", "https://git.acme.dev/team/api.git": "co_authored_by", "/srv/sea": "none"}
    (await save(client, commit_trailer="assisted_by", commit_trailers=own)).raise_for_status()
    found = await read(client)
    assert found["commit_trailer"] == "assisted_by"
    expected = {"github.com/octo/app": "none", "git.acme.dev/team/api": "co_authored_by", "/srv/sea": "none"}
    assert found["commit_trailers"] == expected
    (await save(client, commit_trailers=expected)).raise_for_status()
    assert (await read(client))["commit_trailers"] == expected
    reply = await save(client, commit_trailers={"not a repository": "none"})
    assert_problem(reply, 422, "repository_not_found")


@pytest.mark.parametrize(
    "changes",
    [
        {"language": "en"},
        {"user_consents_to_analytics": True},
        {"agent_settings_diff": {"mcp_config": {}}},
        {"agent_settings_diff": {"llm": {"temperature": 1}}},
        {"agent_settings": {"llm": MODEL}},
        {"conversation_settings_diff": {"max_iterations": 0}},
        {"git_user_name": "Ada\n[core]"},
        {"llm_model": "openai/gpt-5"},
    ],
)
async def test_what_would_have_no_effect_is_refused(client: httpx.AsyncClient, changes: Any) -> None:
    before = await read(client)

    assert_problem(await save(client, **changes, max_budget_per_task=1), 422, "validation_failed")
    assert await read(client) == before


async def test_what_was_read_may_be_sent_back(client: httpx.AsyncClient) -> None:
    (await save(client, agent_settings_diff={"llm": MODEL})).raise_for_status()
    before = await read(client)
    llm = before["agent_settings"]["llm"]
    derived = ("llm_api_key_set", "search_api_key_set", "provider_tokens_set", "llm_profiles")
    same = {name: before[name] for name in before if name not in derived and not name.endswith("_settings")}

    sent = await save(
        client,
        **same,
        agent_settings_diff={"llm": llm},
        conversation_settings_diff=before["conversation_settings"],
    )

    assert sent.status_code == 200, sent.text
    assert await read(client) == before


async def test_without_a_model_there_is_nothing_to_change(client: httpx.AsyncClient) -> None:
    assert_problem(await save(client, max_budget_per_task=1), 400, "llm_model_missing")
    spec = await save(client, default_sandbox_spec_id="0" * 32)
    assert_problem(spec, 403, "sandbox_specs_not_allowed")


async def test_who_i_am_comes_with_my_settings_but_no_secret(client: httpx.AsyncClient) -> None:
    token = {"provider_tokens": {"gitlab": {"token": KEY, "host": "git.acme.dev"}, "github": {"token": KEY}}}
    (await client.post("/api/v1/secrets/git-providers", json=token)).raise_for_status()
    me = await client.get("/api/v1/users/me")

    assert (me.json()["name"], me.json()["role"]) == ("Owner", "owner")
    assert me.json()["llm_profiles"]["active"] == "demo"
    tokens = (await read(client))["provider_tokens_set"]
    assert tokens == {"github": None, "gitlab": "git.acme.dev"}
    exposed = await client.get("/api/v1/users/me", params={"expose_secrets": True})
    assert_problem(exposed, 403, "secrets_not_exposed")


async def test_forms_are_described(client: httpx.AsyncClient, anonymous: httpx.AsyncClient) -> None:
    for form, diff in (("agent-schema", "agent"), ("conversation-schema", "conversation")):
        schema = (await client.get(f"{SETTINGS}/{form}")).json()
        keys = [field["key"] for section in schema["sections"] for field in section["fields"]]
        settings = (await read(client))[f"{diff}_settings"]
        for key in keys:
            place = settings
            for name in key.split("."):
                place = place[name]
        assert_problem(await anonymous.get(f"{SETTINGS}/{form}"), 401, "not_authenticated")
    assert_problem(await anonymous.get(SETTINGS), 401, "not_authenticated")


async def test_a_user_without_any_model_has_settings_and_can_add_one(app: App) -> None:
    async with app.database.session() as session:
        user = await create_user(session, name="Somebody", role=Role.MEMBER)
        _, key = await create_api_key(session, user, name="tests")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as member:
        assert (await read(member))["agent_settings"]["llm"] == {}
        assert (await member.get("/api/v1/users/me")).json()["llm_profiles"]["active"] is None
        (await save(member, agent_settings_diff={"llm": MODEL})).raise_for_status()
        assert (await read(member))["llm_profiles"]["active"] == "default"
