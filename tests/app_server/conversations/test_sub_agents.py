"""Tests of sub-agents through the public API: only the owner can read the events of a sub-agent, until the
conversation is deleted.
"""

import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, client_of, eventually
from tests.support.scripted_llm import Request, ScriptedLLM, Turn, call, say, text_of


@pytest.fixture
async def profile(home: Home, scripted_llm: ScriptedLLM) -> None:
    llm = {"model": "openai/scripted", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    (await home.client.post("/api/v1/settings/profiles/mine", json={"llm": llm})).raise_for_status()


def play(request: Request) -> Turn:
    texts = [text_of(message) for message in request.messages]
    has_result = request.messages[-1]["role"] == "tool"
    if "Count the stones." in texts:
        return say("Three stones.") if has_result else call("terminal", command="echo 3")
    return say("Done.") if has_result else call("task", prompt="Count the stones.", description="Count")


async def hand_over(home: Home, scripted_llm: ScriptedLLM) -> tuple[str, dict[str, Any]]:
    """Starts a conversation whose sub-agent completes a task. Returns the conversation's id, and the task
    from the agent's state.
    """
    scripted_llm.fallback = play
    message = {"role": "user", "content": [{"type": "text", "text": "Begin."}]}
    started = await home.ready(initial_message=message, title="Stones")
    conversation_id = started["id"]

    async def tasks() -> Any:
        page = await home.client.get(f"/api/v1/conversation/{conversation_id}/events/search")
        values = [
            event["value"]["tasks"]["task_00000001"]
            for event in page.json()["items"]
            if event.get("key") == "agent_state" and "tasks" in event["value"]
        ]
        return values[-1] if values and values[-1]["status"] == "completed" else None

    return conversation_id, await eventually(tasks)


def log_of(conversation_id: str, task: dict[str, Any]) -> str:
    return f"{ROOT}/{conversation_id}/sub-conversations/{task['conversation_id']}/events"


@pytest.mark.usefixtures("profile")
async def test_what_a_sub_agent_does_can_be_read_by_the_owner(home: Home, scripted_llm: ScriptedLLM) -> None:
    conversation_id, task = await hand_over(home, scripted_llm)
    path = log_of(conversation_id, task)
    page = await home.client.get(path)
    page.raise_for_status()
    kinds = [event["kind"] for event in page.json()["items"]]
    async with client_of(home.config, await home.key_of(role=Role.MEMBER)) as stranger:
        refused = await stranger.get(path)

    assert (task["subagent"], task["description"]) == ("general-purpose", "Count")
    assert kinds[:3] == ["SystemPromptEvent", "MessageEvent", "ConversationStateUpdateEvent"]
    assert {"ActionEvent", "ObservationEvent"} <= set(kinds)
    assert page.json()["next_page_id"] is None
    assert refused.status_code == httpx.codes.NOT_FOUND
    nowhere = f"{ROOT}/{conversation_id}/sub-conversations/{conversation_id[:-4]}0000/events"
    assert (await home.client.get(nowhere)).status_code == httpx.codes.NOT_FOUND


@pytest.mark.usefixtures("profile")
async def test_its_work_can_be_read_again_when_the_sandbox_has_slept(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    conversation_id, task = await hand_over(home, scripted_llm)
    path = log_of(conversation_id, task)
    before = (await home.client.get(path)).json()["items"]

    (await home.client.post(f"/api/v1/sandboxes/{conversation_id}/pause")).raise_for_status()
    asleep = await home.client.get(path)
    (await home.client.post(f"/api/v1/sandboxes/{conversation_id}/resume")).raise_for_status()

    async def awake() -> Any:
        reply = await home.client.get(path)
        return reply.json() if reply.is_success else None

    assert asleep.headers["content-type"] == "application/problem+json"
    assert (asleep.status_code, asleep.json()["code"]) == (httpx.codes.CONFLICT, "sandbox_not_running")
    assert "wake it" in asleep.json()["fix"]
    assert (await eventually(awake))["items"][: len(before)] == before


@pytest.mark.usefixtures("profile")
async def test_a_deleted_conversation_takes_its_sub_agents_work_with_it(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    conversation_id, task = await hand_over(home, scripted_llm)
    path, address = log_of(conversation_id, task), f"{ROOT}/{conversation_id}"
    async with client_of(home.config, await home.key_of(role=Role.MEMBER)) as stranger:
        refused = await stranger.delete(address)
    assert (refused.status_code, refused.json()["code"]) == (httpx.codes.NOT_FOUND, "not_found")
    assert traces(home, task["conversation_id"])
    assert (await home.client.get(path)).is_success

    (await home.client.delete(address)).raise_for_status()

    assert (await home.client.get(path)).status_code == httpx.codes.NOT_FOUND

    async def is_gone() -> bool:
        return not traces(home, task["conversation_id"])

    await eventually(is_gone)


def traces(home: Home, conversation_id: str) -> list[Path]:
    """Returns all files and directories in the server's home whose name contains the conversation's id."""
    name_there = conversation_id.replace("-", "")
    return [
        Path(directory, name)
        for directory, directories, files in os.walk(home.config.home)
        for name in (*directories, *files)
        if name_there in name.replace("-", "")
    ]
