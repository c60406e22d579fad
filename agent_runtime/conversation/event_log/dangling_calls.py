"""Finds tool calls that a crash may have interrupted, and builds error results for tool calls that will never
have a result.
"""

from collections.abc import Mapping, Sequence

from agent_runtime.agent.agent import Agent
from agent_runtime.agent.execute import interrupted, ready
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.observation import AgentErrorEvent
from agent_runtime.tools.tool import AnyTool


def lost(pending: Sequence[ActionEvent], agent: Agent, tools: Mapping[str, AnyTool]) -> Sequence[ActionEvent]:
    """Returns the tool calls that must not be executed again after a crash. `pending`: the tool calls without
    a result. `tools`: the agent's tools by name.

    Some of the pending calls may have begun before the crash. If each of these is safe to repeat, returns an
    empty list. Otherwise returns all pending calls.
    """
    begun = [tools.get(action.tool_name) for action in _begun(pending, agent, tools)]
    is_harmless = all(tool is not None and tool.is_repeatable for tool in begun)
    return () if is_harmless else pending


def give_up(
    pending: Sequence[ActionEvent], agent: Agent, tools: Mapping[str, AnyTool], *, by: str
) -> list[AgentErrorEvent]:
    """Returns one error event for each tool call in `pending`. This event is the result of the call, which
    will have no other result. Its text tells the model whether the tool may have run.

    `pending`: the tool calls without a result. `agent`, `tools`: show which of these calls may have begun.
    `by`: the part of the event's text that says who or what ended the calls, such as "by the user".
    """
    begun = {action.id for action in _begun(pending, agent, tools)}
    return [interrupted(action, by=by, may_have_run=action.id in begun) for action in pending]


def _begun(
    pending: Sequence[ActionEvent], agent: Agent, tools: Mapping[str, AnyTool]
) -> Sequence[ActionEvent]:
    return pending[:1] if agent.tool_concurrency_limit == 1 else ready(pending, tools)
