"""Running one action. Whatever happens, the model gets an answer it can act on."""

import logging
from collections.abc import Mapping

from agent_runtime.events.action import ActionEvent
from agent_runtime.events.errors import ErrorClassification
from agent_runtime.events.observation import AgentErrorEvent, ObservationEvent
from agent_runtime.tools.tool import AnyTool, Observation

logger = logging.getLogger(__name__)

INTERRUPTED = ErrorClassification(kind="interrupted", retryable=True, user_action="none")
FAILED = ErrorClassification(kind="tool", retryable=True, user_action="none")


async def execute(event: ActionEvent, tools: Mapping[str, AnyTool]) -> ObservationEvent | AgentErrorEvent:
    """The result of the action. Cancelling it interrupts the tool."""
    tool = tools.get(event.tool_name)
    if tool is None or event.action is None:
        return _error(event, f"Tool '{event.tool_name}' not found. Available: {list(tools)}", FAILED)
    try:
        observation = await _run(tool, event.action)
    except Exception as error:
        logger.exception("tool failed", extra={"tool": event.tool_name, "action_id": event.id})
        return _error(event, f"`{event.tool_name}` failed: {type(error).__name__}: {error}", FAILED)
    return ObservationEvent(
        tool_name=event.tool_name,
        tool_call_id=event.tool_call_id,
        observation=observation.to_wire(),
        action_id=event.id,
    )


def interrupted(event: ActionEvent, *, by: str, may_have_run: bool) -> AgentErrorEvent:
    """The answer to a call whose own will never come. by: what interrupted it, as in "by the user"."""
    if may_have_run:
        text = (
            f"Interrupted {by}; it may have run, wholly or in part. "
            "Check what it did before you repeat it or build on it."
        )
    else:
        text = f"Not run: the work was interrupted {by} before this call was reached."
    return _error(event, text, INTERRUPTED)


async def _run(tool: AnyTool, action: Mapping[str, object]) -> Observation:
    fields = {name: value for name, value in action.items() if name != "kind"}
    return await tool.run(tool.action_type.model_validate(fields))


def _error(event: ActionEvent, text: str, classification: ErrorClassification) -> AgentErrorEvent:
    return AgentErrorEvent(
        tool_name=event.tool_name,
        tool_call_id=event.tool_call_id,
        error=text,
        classification=classification,
    )
