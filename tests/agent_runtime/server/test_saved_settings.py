"""Tests of settings, models and secrets that an agent server without an app server stores."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.agent_runtime.server.conftest import message, start_request
from tests.support.agent_app import agent_app, called
from tests.support.scripted_llm import ScriptedLLM, fail, say

LLM = {"model": "openai/x", "base_url": "http://llm", "api_key": "llm-canary"}
PLAIN = {"X-Expose-Secrets": "plaintext"}
ENCRYPTED = {"X-Expose-Secrets": "encrypted"}


async def save(client: httpx.AsyncClient, name: str, llm: dict[str, Any] | None = None) -> httpx.Response:
    return await client.post(f"/api/profiles/{name}", json={"llm": llm or LLM})


async def profile(client: httpx.AsyncClient, name: str, headers: dict[str, str] | None = None) -> Any:
    return await called(client, "GET", f"/api/profiles/{name}", headers=headers)


async def test_a_profile_is_saved_shown_renamed_activated_and_deleted(tmp_path: Path):
    async with agent_app(tmp_path) as client:
        assert (await save(client, "fast")).status_code == 201
        shown = await profile(client, "fast")
        assert (shown["config"]["api_key"], shown["api_key_set"]) == (None, True)
        assert shown["config"]["model"] == "openai/x"
        assert (await save(client, "other")).status_code == 201
        taken = await client.post("/api/profiles/fast/rename", json={"new_name": "other"})
        assert (taken.status_code, taken.json()["code"]) == (409, "profile_exists")
        assert (await called(client, "POST", "/api/profiles/fast/activate"))["llm_applied"]
        await called(client, "POST", "/api/profiles/fast/rename", json={"new_name": "quick"})

        listed = await called(client, "GET", "/api/profiles")
        settings = await called(client, "GET", "/api/settings")
        await called(client, "DELETE", "/api/profiles/quick")
        await called(client, "DELETE", "/api/profiles/quick")
        after = await called(client, "GET", "/api/profiles")
        missing = await client.post("/api/profiles/quick/activate")

    assert [one["name"] for one in listed["profiles"]] == ["other", "quick"]
    assert listed["profiles"][1] == {
        "name": "quick",
        "model": "openai/x",
        "base_url": "http://llm",
        "provider_connection_id": None,
        "provider_connection_broken": False,
        "api_key_set": True,
    }
    assert (listed["active_profile"], after["active_profile"]) == ("quick", None)
    assert settings["llm_api_key_is_set"]
    assert settings["agent_settings"]["llm"]["api_key"] == "**********"
    assert (missing.status_code, missing.json()["code"]) == (404, "profile_not_found")


async def test_what_a_client_read_it_may_send_back_without_losing_the_key(tmp_path: Path):
    async with agent_app(tmp_path, secret_key="k") as client:
        await save(client, "fast")
        masked = {**LLM, "api_key": "**********", "model": "openai/y"}
        await save(client, "fast", masked)
        assert (await profile(client, "fast", PLAIN))["config"] == {**LLM, "model": "openai/y"}

        encrypted = (await profile(client, "fast", ENCRYPTED))["config"]
        assert "llm-canary" not in str(encrypted)
        await save(client, "copy", encrypted)
        assert (await profile(client, "copy", PLAIN))["config"]["api_key"] == "llm-canary"

        await client.post("/api/profiles/bare", json={"llm": LLM, "include_secrets": False})
        assert not (await profile(client, "bare"))["api_key_set"]


async def test_a_server_without_keys_shows_no_secret(tmp_path: Path):
    async with agent_app(tmp_path, session_keys=()) as client:
        await save(client, "fast")
        await called(client, "PUT", "/api/settings/secrets", json={"name": "TOKEN", "value": "v"})
        for path, headers in (
            ("/api/profiles/fast", PLAIN),
            ("/api/settings", PLAIN),
            ("/api/settings/secrets/TOKEN", {}),
        ):
            refused = await client.get(path, headers=headers)
            assert (refused.status_code, refused.json()["code"]) == (403, "secrets_not_exposed")
        unkeyed = await client.get("/api/profiles/fast", headers=ENCRYPTED)
        assert (unkeyed.status_code, unkeyed.json()["code"]) == (409, "no_secret_key")


async def test_without_a_secret_key_nothing_touches_the_disk(tmp_path: Path):
    async with agent_app(tmp_path) as client:
        await save(client, "fast")
        assert not (await called(client, "GET", "/api/settings"))["is_kept"]
    assert not (tmp_path / "persisted").exists()
    async with agent_app(tmp_path) as client:
        assert (await called(client, "GET", "/api/profiles"))["profiles"] == []


async def test_with_one_it_outlives_the_process_encrypted_and_the_key_can_change(tmp_path: Path):
    async with agent_app(tmp_path, secret_key="old") as client:
        await save(client, "fast")
        await called(client, "PUT", "/api/settings/secrets", json={"name": "TOKEN", "value": "secret-canary"})
    files = list((tmp_path / "persisted").iterdir())
    assert [oct(file.stat().st_mode & 0o777) for file in files] == ["0o600"]
    assert not any(word in files[0].read_bytes() for word in (b"canary", b"openai/x", b"TOKEN"))

    async with agent_app(tmp_path, secret_key="new") as client:
        refused = await client.get("/api/profiles")
        assert (refused.status_code, refused.json()["code"]) == (500, "saved_unreadable")
        assert "OH_PREVIOUS_SECRET_KEYS" in refused.json()["fix"]
        assert (await save(client, "lost")).status_code == 500
    async with agent_app(tmp_path, secret_key="new", previous_secret_keys=["old"]) as client:
        assert (await profile(client, "fast", PLAIN))["config"] == LLM
    async with agent_app(tmp_path, secret_key="new") as client:
        assert (await client.get("/api/settings/secrets/TOKEN")).text == "secret-canary"


async def test_settings_are_merged_and_null_takes_away(tmp_path: Path):
    async with agent_app(tmp_path) as client:
        server = {"url": "http://mcp", "headers": {"A": "token-canary", "B": "2"}}
        await called(client, "PATCH", "/api/settings", json={
            "agent_settings_diff": {"llm": LLM, "mcp_config": {"one": server}},
            "conversation_settings_diff": {"max_iterations": 7},
            "misc_settings_diff": {"a": 1},
        })  # fmt: skip
        diff = {
            "llm": {"temperature": 0.5, "api_key": "**********"},
            "mcp_config": {"one": {"headers": {"B": None}}},
        }

        seen = await called(client, "PATCH", "/api/settings", json={"agent_settings_diff": diff})
        plain = await called(client, "GET", "/api/settings", headers=PLAIN)
        wrong = await client.patch("/api/settings", json={"agent_settings_diff": {"llm": {"temperature": 9}}})

    assert "canary" not in str(seen)
    assert plain["agent_settings"]["llm"] == {**LLM, "temperature": 0.5}
    assert plain["agent_settings"]["mcp_config"]["one"]["headers"] == {"A": "token-canary"}
    assert (plain["conversation_settings"], plain["misc_settings"]) == ({"max_iterations": 7}, {"a": 1})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "validation_failed")


async def test_mcp_servers_are_added_changed_and_removed_one_by_one(tmp_path: Path):
    async with agent_app(tmp_path) as client:
        path = "/api/settings/mcp/docs"
        body = {"url": "http://mcp", "headers": {"A": "x"}}
        assert (await client.post(path, json=body)).status_code == 201
        assert (await client.post(path, json=body)).status_code == 409
        changed = await called(
            client, "PATCH", path, json={"url": "http://other", "headers": {"A": "**********"}}
        )
        plain = await called(client, "GET", "/api/settings", headers=PLAIN)
        removed = await called(client, "DELETE", path)
        assert (await client.patch(path, json={})).status_code == 404

    assert changed["agent_settings"]["mcp_config"]["docs"]["url"] == "http://other"
    assert plain["agent_settings"]["mcp_config"]["docs"]["headers"] == {"A": "x"}
    assert removed["agent_settings"]["mcp_config"] == {}


async def test_secrets_are_listed_by_name_and_given_by_name(tmp_path: Path):
    path = "/api/settings/secrets"
    async with agent_app(tmp_path) as client:
        secret = {"name": "TOKEN", "value": "v ä", "description": "d"}
        assert await called(client, "PUT", path, json=secret) == {"name": "TOKEN", "description": "d"}
        assert await called(client, "GET", path) == {"secrets": [{"name": "TOKEN", "description": "d"}]}
        value = await client.get(f"{path}/TOKEN")
        assert (value.text, value.headers["content-type"]) == ("v ä", "text/plain; charset=utf-8")
        assert await called(client, "DELETE", f"{path}/TOKEN") == {"deleted": True}
        assert (await client.get(f"{path}/TOKEN")).status_code == 404
        assert (await client.get(f"{path}/not-a-name")).status_code == 422
        assert (await client.put(path, json={"name": "1x", "value": "v"})).status_code == 422


@pytest.mark.parametrize(
    ("status", "is_valid", "error"),
    [(200, True, None), (429, True, None), (401, False, "LLMAuthenticationError")],
)
async def test_a_profile_can_be_tried_before_it_is_saved(
    tmp_path: Path, scripted_llm: ScriptedLLM, status: int, is_valid: bool, error: str | None
):
    scripted_llm.script(say("pong") if status == 200 else fail(status))
    llm = {**LLM, "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    async with agent_app(tmp_path) as client:
        found = await called(client, "POST", "/api/profiles/new/validate", json={"llm": llm})

    assert found["valid"] == is_valid
    assert (found["error"] or {}).get("type") == error
    assert len(scripted_llm.requests) == 1


async def test_forms_can_be_drawn_from_the_schemas(tmp_path: Path):
    async with agent_app(tmp_path) as client:
        agent = await called(client, "GET", "/api/settings/agent-schema")
        conversation = await called(client, "GET", "/api/settings/conversation-schema")

    fields = {field["key"]: field for section in agent["sections"] for field in section["fields"]}
    assert fields["llm.api_key"]["secret"]
    assert not fields["llm.model"]["secret"]
    assert (fields["llm.temperature"]["value_type"], fields["llm.stream"]["value_type"]) == (
        "number",
        "boolean",
    )
    assert {choice["value"] for choice in fields["llm.api_mode"]["choices"]} == {"auto", "chat", "responses"}
    (section,) = conversation["sections"]
    assert section["fields"][0] | {"description": None} == {
        "key": "max_iterations", "label": "Max iterations", "description": None, "section": "general",
        "section_label": "Conversation", "value_type": "integer", "default": 500, "prominence": "major",
        "depends_on": [], "secret": False, "choices": [], "variant": None,
    }  # fmt: skip


async def test_a_conversation_goes_on_with_a_saved_model(tmp_path: Path, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Hello."))
    llm = {"model": "openai/other", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    async with agent_app(tmp_path) as client:
        await save(client, "other", llm)
        body = start_request(scripted_llm, tmp_path)
        path = f"/api/conversations/{(await called(client, 'POST', '/api/conversations', json=body))['id']}"
        unknown = await client.post(f"{path}/switch_profile", json={"profile_name": "none"})
        await called(client, "POST", f"{path}/switch_profile", json={"profile_name": "other"})
        await called(client, "POST", f"{path}/events", json=message("Hi.", run=True))
        await scripted_llm.wait_for_requests(1)
        info = await called(client, "GET", path)

    assert unknown.status_code == 404
    assert scripted_llm.requests[0].body["model"] == "other"
    assert info["agent"]["llm"]["model"] == "openai/other"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("active_agent_profile_id", "unsupported_field"),
        ("active_meta_profile", "unsupported_field"),
        ("agent_setings_diff", "validation_failed"),
    ],
)
async def test_a_setting_that_does_not_exist_is_refused_and_changes_nothing(
    tmp_path: Path, name: str, code: str
):
    async with agent_app(tmp_path) as client:
        body = {"misc_settings_diff": {"a": 1}, name: "7d0f2b0e-6f3a-4a37-9d0a-5f3e7f8f9b11"}
        refused = await client.patch("/api/settings", json=body)
        after = await called(client, "GET", "/api/settings")
        nulls = {"active_agent_profile_id": None, "active_meta_profile": None}
        await called(client, "PATCH", "/api/settings", json=nulls)

    assert (refused.status_code, refused.json()["code"]) == (422, code)
    assert refused.json()["errors"][0]["loc"] == ["body", name]
    assert after["misc_settings"] == {}
