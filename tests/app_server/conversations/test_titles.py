"""Tests of a conversation's title: a change at the app server reaches the agent server, and a change at the
agent server reaches the app server.
"""

from pathlib import Path
from uuid import UUID

import pytest

from app_server.agent_client.calls import NoAnswer
from app_server.agent_client.client import AgentClient
from app_server.conversations.models import Conversation
from tests.app_server.conversations.conftest import ROOT, Home, eventually
from tests.app_server.conversations.test_switch_profile import save, talk
from tests.support.scripted_llm import ScriptedLLM, hold, say


def agent_client(home: Home, conversation_id: str) -> AgentClient:
    client: AgentClient = home.state["sandboxes"].client(UUID(conversation_id))
    return client


async def title_there(home: Home, conversation_id: str) -> str | None:
    info = await agent_client(home, conversation_id).get_conversation(UUID(conversation_id))
    return info.title


async def rename(home: Home, conversation_id: str, title: str) -> None:
    reply = await home.client.patch(f"{ROOT}/{conversation_id}", json={"title": title})
    assert reply.status_code == 200, reply.text


async def both_say(home: Home, conversation_id: str, title: str) -> None:
    async def agree() -> bool:
        if (await home.conversation(conversation_id))["sandbox_status"] != "RUNNING":
            return False
        here = (await home.conversation(conversation_id))["title"]
        async with home.database.read() as session:
            unsent = (await session.get_one(Conversation, UUID(conversation_id))).unsent_title
        return (here, await title_there(home, conversation_id), unsent) == (title, title, None)

    await eventually(agree)


async def test_a_rename_reaches_the_agent_server_and_a_later_one_there_comes_back(home: Home) -> None:
    conversation_id = (await home.ready())["id"]
    long = "The harbour " * 15

    await rename(home, conversation_id, long)
    await both_say(home, conversation_id, long.strip())
    await agent_client(home, conversation_id).set_title(UUID(conversation_id), "The quay")
    await both_say(home, conversation_id, "The quay")
    await rename(home, conversation_id, "The crane")
    await both_say(home, conversation_id, "The crane")


async def test_a_rename_before_the_start_is_over_is_the_title_there(home: Home) -> None:
    await home.state["start_worker"].close()
    task = await home.start(title="First")
    await rename(home, task["id"], "Second")

    await home.state["start_worker"].open()
    await home.ended(task["id"])

    await both_say(home, task["id"], "Second")


async def test_a_rename_outlives_the_sleep_of_its_sandbox(home: Home) -> None:
    conversation_id = (await home.ready(title="Before"))["id"]
    await home.client.post(f"/api/v1/sandboxes/{conversation_id}/pause")
    assert (await home.conversation(conversation_id))["sandbox_status"] == "PAUSED"

    await rename(home, conversation_id, "While asleep")
    await home.client.post(f"/api/v1/sandboxes/{conversation_id}/resume")

    await both_say(home, conversation_id, "While asleep")


async def test_a_rename_waits_for_an_agent_server_that_is_away(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation_id = (await home.ready(title="Before"))["id"]
    url = agent_client(home, conversation_id).url
    tried: list[str] = []
    reach = AgentClient.set_title

    async def cut_off(self: AgentClient, conversation_id: UUID, title: str) -> None:
        tried.append(title)
        raise NoAnswer(f"{url} is away.")

    with monkeypatch.context() as patched:
        patched.setattr(AgentClient, "set_title", cut_off)
        await rename(home, conversation_id, "While away")

        async def was_tried() -> bool:
            return bool(tried)

        await eventually(was_tried)
        assert await title_there(home, conversation_id) == "Before"
        # The title in the log is older than the user's title.
        assert (await home.conversation(conversation_id))["title"] == "While away"
    assert AgentClient.set_title is reach

    await both_say(home, conversation_id, "While away")


async def test_a_title_thought_of_before_a_rename_does_not_replace_it(
    home: Home, scripted_llm: ScriptedLLM, repository: Path
) -> None:
    await save(home, "mine", scripted_llm, "openai/small")
    thinking = hold(say("A generated title"))
    scripted_llm.aside, scripted_llm.fallback = thinking, lambda _: say("Yes.")
    conversation_id = (await home.ready(selected_repository=str(repository), llm_profile="mine"))["id"]
    await talk(home, conversation_id, "Hi.", after=0)

    await rename(home, conversation_id, "The harbour")
    await both_say(home, conversation_id, "The harbour")
    thinking.release()
    await talk(home, conversation_id, "And now?", after=1)

    await both_say(home, conversation_id, "The harbour")


async def test_a_recording_is_not_asked_for_a_title_and_has_the_first_words_on_both_sides(home: Home) -> None:
    def said(text: str) -> dict[str, object]:
        return {"role": "user", "content": [{"type": "text", "text": text}], "run": False}

    early = (await home.ready(initial_message=said("Fix the crane\nsoon")))["id"]
    late = (await home.ready())["id"]
    await home.client.post(f"{ROOT}/{late}/send-message", json=said("Mend the quay"))

    await both_say(home, early, "Fix the crane")
    await both_say(home, late, "Mend the quay")
