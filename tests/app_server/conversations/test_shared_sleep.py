"""Tests of a sandbox of several conversations: it is put to sleep only when all of them are idle."""

import pytest

from app_server.core.config import Config
from tests.app_server.conversations.conftest import Home, eventually
from tests.app_server.conversations.test_shared_sandbox import begin, replies, send, share, use_model
from tests.support.scripted_llm import ScriptedLLM, hold, say


@pytest.fixture
def config(config: Config) -> Config:
    """Returns a configuration in which a sandbox is idle at once."""
    return config.model_copy(update={"sandbox_idle_minutes": 1e-6})


async def test_a_sandbox_sleeps_when_all_of_its_conversations_are_idle(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    await use_model(home, scripted_llm)
    await share(home)
    first, second = await begin(home), await begin(home)
    held = hold(say("Done."))
    scripted_llm.script(held)
    await send(home, first["id"], "Take your time.")
    await scripted_llm.wait_for_requests(1)

    await home.state["sandboxes"].rest()
    assert (await home.conversation(second["id"]))["sandbox_status"] == "RUNNING"
    held.release()

    async def has_answered() -> bool:
        return await replies(home, first["id"]) == ["Done."]

    await eventually(has_answered)

    async def sleeps() -> bool:
        await home.state["sandboxes"].rest()
        found = [await home.conversation(each["id"]) for each in (first, second)]
        return [each["sandbox_status"] for each in found] == ["PAUSED", "PAUSED"]

    await eventually(sleeps)
    scripted_llm.fallback = say("Good morning.")
    await send(home, second["id"], "Wake up.")

    async def answers() -> bool:
        return await replies(home, second["id"]) == ["Good morning."]

    await eventually(answers)
