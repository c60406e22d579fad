"""Tests of the default agent, which a program gets when it configures no agent."""

import pytest

from agent_runtime import LLM, LLMSummarizingCondenser, default_agent


def test_it_has_a_condenser_with_separate_usage_and_a_small_set_of_tools():
    agent = default_agent(LLM(model="openai/unheard-of"))

    assert [tool.name for tool in agent.tools] == ["terminal", "file_editor", "grep", "task_tracker"]
    assert isinstance(agent.condenser, LLMSummarizingCondenser)
    assert agent.condenser.llm.usage_id == "condenser"
    assert agent.llm.reasoning_effort is None


@pytest.mark.parametrize(
    ("llm", "effort"),
    [
        (LLM(model="openai/gpt-5"), "medium"),
        (LLM(model="openai/gpt-5", reasoning_effort="high"), "high"),
        (LLM(model="openai/gpt-5", thinking_budget=1000), None),
        (LLM(model="openai/gpt-4o"), None),
    ],
)
def test_effort_is_asked_for_where_the_model_takes_it_and_none_is_named(llm: LLM, effort: str | None):
    assert default_agent(llm).llm.reasoning_effort == effort


def test_a_model_that_writes_patches_may():
    assert "apply_patch" in [tool.name for tool in default_agent(LLM(model="openai/gpt-5")).tools]
