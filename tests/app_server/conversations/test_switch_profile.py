"""Tests of switching a conversation to another model profile of the user."""

from pathlib import Path
from typing import Any
from uuid import UUID

from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, client_of, eventually
from tests.support.scripted_llm import ScriptedLLM, say


async def save(home: Home, name: str, llm: ScriptedLLM, model: str) -> None:
    body = {"llm": {"model": model, "base_url": llm.base_url, "api_key": llm.api_key}}
    reply = await home.client.post(f"/api/v1/settings/profiles/{name}", json=body)
    assert reply.status_code == 201, reply.text


async def talk(home: Home, conversation_id: str, text: str, *, after: int) -> None:
    """Sends the message, and waits until the agent has finished its turn.

    after: how many turns the agent had finished before.
    """
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    reply = await home.client.post(f"{ROOT}/{conversation_id}/send-message", json=message)
    assert reply.status_code == 200, reply.text

    async def has_answered() -> bool:
        params: dict[str, Any] = {"kind": "ConversationStateUpdateEvent", "limit": 100}
        url = f"/api/v1/conversation/{conversation_id}/events/search"
        items = (await home.client.get(url, params=params)).json()["items"]
        return [item["value"] for item in items if item.get("key") == "execution_status"].count(
            "finished"
        ) > after

    await eventually(has_answered)


async def test_the_agents_next_call_goes_to_the_other_model(
    home: Home, scripted_llm: ScriptedLLM, repository: Path
) -> None:
    await save(home, "first", scripted_llm, "openai/small")
    await save(home, "second", scripted_llm, "openai/large")
    task = await home.ready(selected_repository=str(repository), llm_profile="first")
    scripted_llm.fallback = lambda _: say("Yes.")
    await talk(home, task["id"], "Hi.", after=0)

    reply = await home.client.post(f"{ROOT}/{task['id']}/switch_profile", json={"profile_name": "second"})
    await talk(home, task["id"], "And now?", after=1)

    assert reply.json() == {"success": True}
    models = [request.body["model"] for request in scripted_llm.requests]
    assert (models[0], models[-1]) == ("small", "large")
    assert {request.bearer for request in scripted_llm.requests} == {scripted_llm.api_key}
    shown = await home.conversation(task["id"])
    assert (shown["llm_profile"], shown["llm_model"]) == ("second", "openai/large")


async def test_unknown_and_foreign_profiles_are_not_found(home: Home, repository: Path) -> None:
    task = await home.ready(selected_repository=str(repository))
    url = f"{ROOT}/{task['id']}/switch_profile"

    unknown = await home.client.post(url, json={"profile_name": "nowhere"})
    async with client_of(home.config, await home.key_of(Role.MEMBER)) as other:
        foreign = await other.post(url, json={"profile_name": "demo"})

    assert (unknown.status_code, unknown.json()["code"]) == (404, "llm_profile_not_found")
    assert foreign.status_code == 404
    assert (await home.conversation(task["id"]))["llm_profile"] == "demo"


async def test_a_conversation_whose_sandbox_does_not_run_keeps_its_model(
    home: Home, repository: Path
) -> None:
    task = await home.ready(selected_repository=str(repository))
    await home.state["sandboxes"].delete(UUID(task["id"]))

    reply = await home.client.post(f"{ROOT}/{task['id']}/switch_profile", json={"profile_name": "demo"})

    assert (reply.status_code, reply.json()["code"]) == (409, "sandbox_not_running")
