"""Tests of the skills of the agent in descriptions of conversations."""

from pathlib import Path
from typing import Any

from tests.agent_runtime.server.conftest import message, start_request
from tests.support.agent_app import agent_app, called, wait_for_status
from tests.support.scripted_llm import ScriptedLLM, say

START = "/api/conversations"
SKILL = {"name": "harbour", "content": "Ships are in the harbour.", "trigger": None, "source": None}


async def test_replies_have_the_skills_of_the_agent_only_if_the_client_asks(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("Done."))
    body = start_request(scripted_llm, tmp_path, conversation_id="7d0f2b0e-6f3a-4a37-9d0a-5f3e7f8f9b11")
    body["agent"]["agent_context"] = {"skills": [SKILL], "system_message_suffix": "Be brief."}
    path = f"{START}/{body['conversation_id']}"

    async with agent_app(tmp_path) as client:

        async def contexts(**params: Any) -> dict[str, Any]:
            replies = {
                "create": await called(client, "POST", START, json=body, params=params),
                "get": await called(client, "GET", path, params=params),
                "list": (
                    await called(client, "GET", START, params={"ids": body["conversation_id"], **params})
                )[0],
                "search": (await called(client, "GET", f"{START}/search", params=params))["items"][-1],
                "fork": await called(client, "POST", f"{path}/fork", json={}, params=params),
                "navigate": await called(
                    client, "POST", f"{path}/navigate", json={"event_id": leaf}, params=params
                ),
            }
            return {name: reply["agent"]["agent_context"] for name, reply in replies.items()}

        await called(client, "POST", START, json=body)
        await called(client, "POST", f"{path}/events", json=message("Go.", run=True))
        await wait_for_status(client, body["conversation_id"], "finished")
        leaf = (await called(client, "GET", path))["leaf_event_id"]
        without, with_skills = await contexts(), await contexts(include_skills="true")
        unknown = await called(client, "GET", START, params={"ids": "7d0f2b0e-6f3a-4a37-9d0a-000000000000"})

    assert unknown == [None]
    assert [one["skills"] for one in without.values()] == [[]] * len(without)
    assert {one["system_message_suffix"] for one in without.values()} == {"Be brief."}
    assert [[skill["content"] for skill in one["skills"]] for one in with_skills.values()] == [
        [SKILL["content"]]
    ] * len(with_skills)
    prompt = str(scripted_llm.requests[0].body["messages"][0])
    assert str(SKILL["content"]) in prompt
