"""Changes the agent's model during a conversation."""

from agent_runtime.agent.agent import Agent
from agent_runtime.context.condense import Condenser, LLMSummarizingCondenser, with_summarizing_llm
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log.state import AGENT
from agent_runtime.conversation.run.budget import budget_update
from agent_runtime.conversation.spec import mask
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.llm.config import LLM
from agent_runtime.llm.conversation_costs import budget_of


def switch_llm(conversation: ConversationEngine, llm: LLM, condenser_llm: LLM | None = None) -> None:
    """Changes the agent's model. The new model is used from the next request on. Its API key is stored
    encrypted, or not at all if encryption is not available.

    `llm`: the configuration of the new model. If it has a budget, this budget replaces the conversation's
    budget; otherwise the conversation's budget stays the same. `condenser_llm`: the new model of the
    condenser (which summarizes older events). If it is None, a condenser that used the agent's old model
    changes to the agent's new model.
    """
    before = conversation.agent.llm
    budget = llm.max_budget_per_task or budget_of(conversation.state.stats, before)
    agent = with_llm(conversation.agent, llm, condenser_llm)
    conversation.run_context.agent = agent
    conversation.keys.keep()
    conversation.emit(ConversationStateUpdateEvent(key=AGENT, value=mask(agent.model_dump(mode="json"))))
    if budget_of(conversation.state.stats, agent.llm) != budget:
        conversation.emit(budget_update(conversation.run_context, budget))
    conversation.publish_full_state()


def with_llm(agent: Agent, llm: LLM, condenser_llm: LLM | None = None) -> Agent:
    """Returns a copy of the agent with a new model. `condenser_llm`: the new model of the agent's condenser
    (which summarizes older events); if it is None, a condenser that used the agent's old model changes to the
    new model. If `llm` has no budget, the copy gets the budget of the agent's old model.
    """
    llm = llm.model_copy(
        update={"max_budget_per_task": llm.max_budget_per_task or agent.llm.max_budget_per_task}
    )
    condenser = (
        _following(agent.condenser, agent.llm, llm)
        if condenser_llm is None
        else with_summarizing_llm(agent.condenser, condenser_llm)
    )
    return agent.model_copy(update={"llm": llm, "condenser": condenser})


def _following(condenser: Condenser | None, before: LLM, after: LLM) -> Condenser | None:
    """Returns the agent's condenser (which summarizes older events) after a change of the agent's model. A
    condenser that used the old model (`before`) gets the new model (`after`), because the old model may soon
    be unavailable. Every other condenser, also a pipeline, is returned unchanged. Returns None if there is no
    condenser.
    """
    if not isinstance(condenser, LLMSummarizingCondenser):
        return condenser
    own = condenser.llm
    if (own.model, own.base_url) != (before.model, before.base_url):
        return condenser
    return condenser.model_copy(update={"llm": after.model_copy(update={"usage_id": own.usage_id})})
