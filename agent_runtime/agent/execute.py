"""Running actions, and which of them may run now.

Whatever happens, the model gets an answer it can act on.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from agent_runtime.events.action import ActionEvent
from agent_runtime.events.errors import ErrorClassification
from agent_runtime.events.observation import AgentErrorEvent, ObservationEvent
from agent_runtime.tools.claims import EVERYTHING, NOTHING, Claim, conflict
from agent_runtime.tools.tool import Action, AnyTool, Observation

logger = logging.getLogger(__name__)

INTERRUPTED = ErrorClassification(kind="interrupted", retryable=True, user_action="none")
FAILED = ErrorClassification(kind="tool", retryable=True, user_action="none")


async def execute(event: ActionEvent, tools: Mapping[str, AnyTool]) -> ObservationEvent | AgentErrorEvent:
    """The result of the action. Cancelling it interrupts the tool."""
    tool = tools.get(event.tool_name)
    if tool is None or event.action is None:
        return _error(event, f"Tool '{event.tool_name}' not found. Available: {list(tools)}", FAILED)
    try:
        async with asyncio.timeout(tool.timeout_seconds) as timeout:
            observation = await _run(tool, event.action)
        wire = _writable(observation.to_wire())
    except asyncio.CancelledError:
        if is_asked_to_stop():
            raise
        return _error(event, f"`{event.tool_name}` gave up: something it waited for was cancelled.", FAILED)
    except TimeoutError as error:
        limit = f" within {tool.timeout_seconds:g} seconds" if timeout.expired() else f": {error}"
        return _error(event, f"`{event.tool_name}` did not end{limit}; it may have run in part.", FAILED)
    except Exception as error:
        logger.exception("tool failed", extra={"tool": event.tool_name, "action_id": event.id})
        return _error(event, f"`{event.tool_name}` failed: {type(error).__name__}: {error}", FAILED)
    return ObservationEvent(
        tool_name=event.tool_name,
        tool_call_id=event.tool_call_id,
        observation=wire,
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


def is_asked_to_stop() -> bool:
    """Whether somebody has cancelled the task that asks, or a CancelledError comes from what it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def ready(pending: Sequence[ActionEvent], tools: Mapping[str, AnyTool]) -> list[ActionEvent]:
    """Those of the unanswered calls that need not wait for an earlier one, in order.

    The answer depends on nothing else, so that after a crash it names every call that can have begun.
    """
    found: list[ActionEvent] = []
    earlier: list[Claim] = []
    for event in pending:
        claims = _claims(event, tools)
        if not conflict(claims, earlier):
            found.append(event)
        earlier.extend(claims)
    return found


def _claims(event: ActionEvent, tools: Mapping[str, AnyTool]) -> Sequence[Claim]:
    tool = tools.get(event.tool_name)
    if tool is None or event.action is None:
        return NOTHING  # answered with an error, whenever
    try:
        return tool.claims(_parse(tool, event.action))
    except Exception:
        logger.exception("claims failed", extra={"tool": event.tool_name, "action_id": event.id})
        return EVERYTHING


async def _run(tool: AnyTool, action: Mapping[str, object]) -> Observation:
    return await tool.run(_parse(tool, action))


def _parse(tool: AnyTool, action: Mapping[str, object]) -> Action:
    fields = {name: value for name, value in action.items() if name != "kind"}
    parsed: Action = tool.action_type.model_validate(fields)
    return parsed


def _writable(value: Any) -> Any:
    """The same without what UTF-8 has no bytes for: names of files may hold it, the log cannot."""
    match value:
        case str():
            return value if value.isascii() else value.encode(errors="replace").decode()
        case list():
            return [_writable(item) for item in value]
        case dict():
            return {name: _writable(item) for name, item in value.items()}
        case _:
            return value


def _error(event: ActionEvent, text: str, classification: ErrorClassification) -> AgentErrorEvent:
    return AgentErrorEvent(
        tool_name=event.tool_name,
        tool_call_id=event.tool_call_id,
        error=text,
        classification=classification,
    )
