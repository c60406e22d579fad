"""Prepares the agent's tools before a request to the model is sent."""

from agent_runtime.conversation.approval.pending_actions import analyzer_of, reviewer_of
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.security.analyzers import asks_model
from agent_runtime.security.policy import NeverConfirm


async def prepare_tools(context: RunContext) -> None:
    """Connects to the agent's MCP servers if they are not connected yet or their tools may have changed. Logs
    which tools each server has, or why a server is not available.
    """
    context.mcp_questions.close_lost()
    policy = reviewer_of(context.spec, context.state, context.tools).policy
    news = await context.toolbox.prepare(asks=not isinstance(policy, NeverConfirm))
    if news is not None:
        context.emit(ConversationStateUpdateEvent(key="agent_state", value={"mcp_servers": news}))
    context.emit(*context.mcp_approvals.keep())


def apply_analyzer(context: RunContext) -> None:
    """Adds parameters to the schema of each tool, in which the model describes the call, for example its
    risk. With each tool call, the model then gives values for these parameters, and the security analyzer
    reads the values. Which parameters are added depends on the analyzer.
    """
    context.toolbox.ask_about_calls(asks_model(analyzer_of(context.spec, context.state)))
