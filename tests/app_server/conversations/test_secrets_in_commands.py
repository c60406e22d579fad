"""Tests of secrets from the settings in an agent's command, with a real agent server and a scripted model."""

from typing import Any
from uuid import UUID

import httpx

from app_server.conversations.models import StartTask
from app_server.conversations.start.secrets import url_of
from tests.app_server.conversations.conftest import Home, eventually
from tests.support.plain_http import NO_TLS
from tests.support.scripted_llm import ScriptedLLM, call, say

CANARY = "canary-value-90ab"


async def test_a_command_that_names_a_secret_gets_it_and_its_value_is_never_shown(
    home: Home, scripted_llm: ScriptedLLM
):
    settings = {
        "model": "openai/scripted",
        "base_url": scripted_llm.base_url,
        "api_key": scripted_llm.api_key,
    }
    await home.client.post("/api/v1/settings/profiles/mine", json={"llm": settings})
    body = {"name": "TOKEN", "value": CANARY, "description": "Opens the staging server"}
    assert (await home.client.post("/api/v1/secrets", json=body)).status_code == 201
    scripted_llm.script(
        call("terminal", command="printf %s $TOKEN | wc -c; echo $TOKEN"),
        call("terminal", command="echo $TOKEN | wc -c"),
        say("Done."),
    )
    message = {"role": "user", "content": [{"type": "text", "text": "Go."}]}
    task = await home.ready(llm_profile="mine", initial_message=message, title="Secrets")

    async def finished() -> Any:
        return (await home.conversation(task["id"]))["execution_status"] == "finished"

    await eventually(finished)
    page = await home.client.get(f"/api/v1/conversation/{task['id']}/events/search")
    observed = [e["observation"]["content"][0]["text"] for e in page.json()["items"] if "observation" in e]
    assert observed[0] == f"{len(CANARY)}\n<secret-hidden>"
    assert observed[1] == str(len(CANARY) + 1)
    assert CANARY not in page.text
    prompt = str(scripted_llm.requests[0].messages)
    assert "- TOKEN: Opens the staging server" in prompt
    assert not any(CANARY in str(request.body) for request in scripted_llm.requests)


async def test_a_start_brings_secrets_for_its_conversation_alone(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    llm = {"model": "openai/scripted", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    (await home.client.post("/api/v1/settings/profiles/mine", json={"llm": llm})).raise_for_status()
    stored = {"name": "TOKEN", "value": "stored-for-all-1234567890"}
    (await home.client.post("/api/v1/secrets", json=stored)).raise_for_status()
    scripted_llm.script(call("terminal", command="printf %s $TOKEN$OWN | wc -c; echo $OWN"), say("Done."))
    message = {"role": "user", "content": [{"type": "text", "text": "Go."}]}
    brought = {"TOKEN": CANARY, "OWN": f"own-{CANARY}"}

    task = await home.ready(llm_profile="mine", initial_message=message, title="Mine", secrets=brought)

    async def finished() -> Any:
        return (await home.conversation(task["id"]))["execution_status"] == "finished"

    await eventually(finished)
    page = await home.client.get(f"/api/v1/conversation/{task['id']}/events/search")
    observed = [e["observation"]["content"][0]["text"] for e in page.json()["items"] if "observation" in e]
    # A secret in the start request has precedence over the user's stored secret with the same name.
    assert observed == [f"{2 * len(CANARY) + 4}\n<secret-hidden>"]
    assert task["request"]["secrets"] == {"TOKEN": "**********", "OWN": "**********"}
    async with home.database.read() as session:
        kept = await session.get_one(StartTask, UUID(task["id"]))
    assert CANARY not in f"{kept.request}{kept.encrypted_secrets}{page.text}"

    other = await home.ready(llm_profile="mine", title="Another")
    running = home.state["sandboxes"].running(UUID(other["sandbox_id"]))
    headers = {"X-Session-API-Key": running.client.session_key}
    async with httpx.AsyncClient(headers=headers, verify=NO_TLS) as thief:
        for sandbox_id in (task["sandbox_id"], other["sandbox_id"]):
            url = url_of(running.inner_url, UUID(sandbox_id), UUID(task["id"]), "OWN")
            assert (await thief.get(url)).status_code == 404
