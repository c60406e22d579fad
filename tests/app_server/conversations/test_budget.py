"""Tests of a conversation's budget, from the profile or the start request: the agent pauses when the budget
is used up, and continues after one request.
"""

from typing import Any

from tests.app_server.conversations.conftest import ROOT, Home, eventually
from tests.support.scripted_llm import ScriptedLLM, calls, say

# A model whose price is known: each reply costs 20 cents.
MODEL = "openai/gpt-4o"


def costly(thought: str) -> Any:
    return calls(("think", {"thought": thought}), prompt_tokens=80_000, completion_tokens=0)


async def save_profile(home: Home, llm: ScriptedLLM, **fields: Any) -> None:
    settings = {"model": MODEL, "base_url": llm.base_url, "api_key": llm.api_key, **fields}
    reply = await home.client.post("/api/v1/settings/profiles/mine", json={"llm": settings})
    assert reply.status_code == 201, reply.text


async def begin(home: Home, **request: Any) -> str:
    message = {"role": "user", "content": [{"type": "text", "text": "Think."}]}
    # Without a title in the request, the app server asks the model for one.
    task = await home.ready(llm_profile="mine", initial_message=message, title="Budget", **request)
    return str(task["id"])


async def becomes(home: Home, conversation_id: str, status: str) -> dict[str, Any]:
    async def check() -> Any:
        conversation = await home.conversation(conversation_id)
        return conversation if conversation["execution_status"] == status else None

    conversation: dict[str, Any] = await eventually(check)
    return conversation


async def test_a_run_pauses_at_the_budget_of_the_profile_and_continues_with_more(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    await save_profile(home, scripted_llm, max_budget_per_task=0.3)
    scripted_llm.script(costly("one"), costly("two"), say("Done."))
    conversation_id = await begin(home)
    paused = await becomes(home, conversation_id, "paused")

    reply = await home.client.post(
        f"{ROOT}/{conversation_id}/budget", json={"max_budget_per_task": 4, "run": True}
    )
    finished = await becomes(home, conversation_id, "finished")

    assert paused["metrics"]["max_budget_per_task"] == 0.3
    assert paused["metrics"]["accumulated_cost"] == 0.4
    assert reply.status_code == 200, reply.text
    assert finished["metrics"]["max_budget_per_task"] == 4


async def test_the_budget_of_the_start_counts_before_that_of_the_profile(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    await save_profile(home, scripted_llm, max_budget_per_task=50)
    scripted_llm.script(costly("one"), say("Never asked for."))

    conversation_id = await begin(home, max_budget_per_task=0.1)

    paused = await becomes(home, conversation_id, "paused")
    assert paused["metrics"]["max_budget_per_task"] == 0.1


async def test_a_model_of_unknown_price_is_stopped_and_goes_on_without_a_budget(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    await save_profile(home, scripted_llm, model="openai/nobody-knows", max_budget_per_task=1)
    scripted_llm.script(costly("one"), say("Done."))
    conversation_id = await begin(home)
    await becomes(home, conversation_id, "error")

    await home.client.post(
        f"{ROOT}/{conversation_id}/budget", json={"max_budget_per_task": None, "run": True}
    )

    finished = await becomes(home, conversation_id, "finished")
    assert finished["metrics"]["max_budget_per_task"] is None


async def test_budgets_that_cannot_be_are_refused(home: Home, scripted_llm: ScriptedLLM) -> None:
    settings = {"model": MODEL, "base_url": scripted_llm.base_url}
    for dollars in (0, -1, "a lot", 1e9):
        bad = {"llm": {**settings, "max_budget_per_task": dollars}}
        assert (await home.client.post("/api/v1/settings/profiles/mine", json=bad)).status_code == 422
        assert (await home.client.post(ROOT, json={"max_budget_per_task": dollars})).status_code == 422


async def test_a_history_that_is_short_is_not_condensed(home: Home, scripted_llm: ScriptedLLM) -> None:
    await save_profile(home, scripted_llm)
    scripted_llm.script(say("Done."))
    conversation_id = await begin(home)
    await becomes(home, conversation_id, "finished")

    reply = await home.client.post(f"{ROOT}/{conversation_id}/condense")

    assert (reply.status_code, reply.json()["code"]) == (409, "nothing_to_condense")
