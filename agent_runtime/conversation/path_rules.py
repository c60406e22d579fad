"""Adds path rules to a tool's result before the result is logged. A path rule is an instruction for certain
files. It is added when a tool call of the conversation reads or changes such a file for the first time.
"""

from collections.abc import Mapping

from agent_runtime.agent.execute import touched
from agent_runtime.context.path_rules import render_rule, rules_for
from agent_runtime.conversation.event_log.state import State
from agent_runtime.conversation.spec import Spec
from agent_runtime.events.observation import ObservationEvent, ToolResult
from agent_runtime.tools.tool import AnyTool


def with_rules(result: ToolResult, state: State, tools: Mapping[str, AnyTool], spec: Spec) -> ToolResult:
    """Returns the tool's result together with the path rules (instructions for certain files) for the files
    that the tool call has read or changed. The result is returned unchanged if the call failed or no rule
    applies.

    `spec`: contains all path rules of the conversation. `state`: says which rules were already added; each
    rule is added only once in a conversation. `tools`: the agent's tools by name.
    """
    action = next((one for one in state.pending if one.tool_call_id == result.tool_call_id), None)
    if action is None or not isinstance(result, ObservationEvent):
        return result
    if all(not skill.paths or skill.name in state.given_rules for skill in spec.project.skills):
        return result
    rules = rules_for(
        touched(action, result, tools),
        spec.project.skills,
        working_dir=spec.working_dir,
        given=state.given_rules,
    )
    added = [*result.extended_content, *map(render_rule, rules)]
    return result.model_copy(update={"extended_content": added}) if rules else result
