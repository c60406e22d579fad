"""Tests of the fields of the request that creates a conversation."""

from pathlib import Path

from tests.agent_runtime.server.conftest import start_request
from tests.support.agent_app import agent_app, called, wait_for_status
from tests.support.scripted_llm import ScriptedLLM, call, say

START = "/api/conversations"
ENCRYPTED = {"X-Expose-Secrets": "encrypted"}


async def test_encrypted_keys_and_secrets_of_a_start_are_decrypted(tmp_path: Path, scripted_llm: ScriptedLLM):
    scripted_llm.script(call("terminal", command='test "$TOKEN" = hidden-value && echo equal'), say("Done."))
    async with agent_app(tmp_path, secret_key="k") as client:
        llm = {"model": "openai/x", "api_key": scripted_llm.api_key}
        diff = {"agent_settings_diff": {"llm": llm, "secrets": {"TOKEN": "hidden-value"}}}
        shown = await called(client, "PATCH", "/api/settings", json=diff, headers=ENCRYPTED)
        encrypted = shown["agent_settings"]
        assert "hidden-value" not in str(shown)
        body = start_request(scripted_llm, tmp_path, "Go.", secrets_encrypted=True)
        body["agent"]["llm"]["api_key"] = encrypted["llm"]["api_key"]
        body["secrets"] = {"TOKEN": {"kind": "StaticSecret", "value": encrypted["secrets"]["TOKEN"]}}
        created = await called(client, "POST", START, json=body)
        await wait_for_status(client, created["id"], "finished")

    authorizations = {request.headers["authorization"] for request in scripted_llm.requests}
    assert authorizations == {f"Bearer {scripted_llm.api_key}"}
    assert "equal" in str(scripted_llm.requests[1].body["messages"])


async def test_a_secret_of_a_start_that_cannot_be_decrypted_is_refused(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    async with agent_app(tmp_path / "other", secret_key="other") as client:
        llm = {"model": "openai/x", "api_key": "canary"}
        await called(client, "POST", "/api/profiles/p", json={"llm": llm})
        foreign = (await called(client, "GET", "/api/profiles/p", headers=ENCRYPTED))["config"]["api_key"]
    body = start_request(scripted_llm, tmp_path, secrets_encrypted=True)
    plain = start_request(scripted_llm, tmp_path, secrets_encrypted=True)
    for given in (
        {"agent": {**body["agent"], "llm": {**llm, "api_key": foreign}}},
        {"secrets": {"T": foreign}},
    ):
        for settings in ({"secret_key": "k"}, {}):
            async with agent_app(tmp_path, **settings) as client:
                refused = await client.post(START, json={**body, **given})
                found = await called(client, "GET", f"{START}/count")
                assert (refused.status_code, refused.json()["code"], found) == (
                    422,
                    "secret_not_decrypted",
                    0,
                )
                assert foreign not in refused.text
    async with agent_app(tmp_path) as client:
        assert (await client.post(START, json=plain)).status_code == 201
