"""A run pauses when its budget is spent. The next run may spend the same amount again."""

from typing import Any

import pytest

from agent_runtime.conversation.changes import set_budget
from agent_runtime.conversation.conversation import ConversationEngine
from tests.agent_runtime.conversation.conftest import Conversations, of_kind, statuses_of, user
from tests.support.scripted_llm import ScriptedLLM, calls, say

ONE_CENT_A_TOKEN = {"input_cost_per_token": 0.01, "output_cost_per_token": 0}


@pytest.fixture
def spending(scripted_llm: ScriptedLLM) -> ScriptedLLM:
    """Returns the scripted model, set up to call `think` without end. Each of its replies
    costs one dollar.
    """
    scripted_llm.fallback = lambda request: calls(
        ("think", {"thought": str(len(request.messages))}), prompt_tokens=100, completion_tokens=0
    )
    return scripted_llm


def begin(conversations: Conversations, **llm: Any) -> ConversationEngine:
    conversation = conversations.create(llm={**ONE_CENT_A_TOKEN, **llm})
    conversation.send(user("Go."))
    return conversation


def budget(conversation: ConversationEngine) -> float | None:
    found: float | None = conversation.info().stats["usage_to_metrics"]["agent"]["max_budget_per_task"]
    return found


async def test_a_run_pauses_at_its_budget_and_the_next_run_may_spend_the_same_amount(
    conversations: Conversations, spending: ScriptedLLM
):
    conversation = begin(conversations, max_budget_per_task=2)
    await conversation.run()
    asked = len(spending.requests)
    detail = of_kind(conversation, "ConversationErrorEvent")[0]["detail"]

    await conversation.run()

    assert asked == 2
    assert "$2.00 are spent, and the budget is $2.00" in detail
    assert statuses_of(conversation) == ["running", "paused", "running", "paused"]
    assert len(spending.requests) == 4
    assert budget(conversation) == 4


async def test_a_budget_can_be_raised_by_any_amount_and_removed(
    conversations: Conversations, spending: ScriptedLLM
):
    conversation = begin(conversations, max_budget_per_task=2)
    await conversation.run()

    set_budget(conversation, 5)
    await conversation.run()
    raised = len(spending.requests)
    set_budget(conversation, None)
    spending.script(say("Done."))
    await conversation.run()

    assert raised == 5
    assert conversation.status == "finished"
    assert budget(conversation) is None


async def test_a_budget_that_is_set_before_the_first_reply_or_after_a_restart_is_kept(
    conversations: Conversations, spending: ScriptedLLM
):
    conversation = begin(conversations)
    set_budget(conversation, 1)
    await conversation.run()
    await conversation.close()

    reopened = conversations.reopen()
    await reopened.run()

    assert len(spending.requests) == 2
    assert reopened.status == "paused"
    assert budget(reopened) == 2
