"""Executes tool calls, and decides which of the pending calls may run now.

Every call gets a result that the model can use to continue, also when the tool fails.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_runtime.events.action import ActionEvent
from agent_runtime.events.errors import INTERRUPTED, ErrorClassification
from agent_runtime.events.observation import AgentErrorEvent, ObservationEvent, ToolResult
from agent_runtime.time_limits import time_limit
from agent_runtime.tools.claims import EVERYTHING, NOTHING, Claim, conflict
from agent_runtime.tools.tool import AnyTool, CallSuspendedError
from agent_runtime.tools.truncate import truncate_middle
from agent_runtime.untrusted_text import failure

MAX_RESULT_CHARS = 100_000
"""The maximum number of characters in one text of a tool result; longer texts are shortened. The results of
the runtime's own tools are shorter. Without this limit, a single result could fill the context window of the
model, and a summary of older messages would not help.
"""
MAX_ERROR_CHARS = 10_000

logger = logging.getLogger(__name__)

FAILED = ErrorClassification(kind="internal", retryable=True, user_action="none")


async def execute(event: ActionEvent, tools: Mapping[str, AnyTool]) -> ObservationEvent | AgentErrorEvent:
    """Runs the tool call and returns its result. Cancelling this coroutine interrupts the tool. Raises
    CallSuspendedError if the call cannot be completed now because it must wait, for example for the user.
    """
    tool = tools.get(event.tool_name)
    if tool is None or event.action is None:
        return _error(event, f"Tool '{event.tool_name}' not found. Available: {', '.join(tools)}.", FAILED)
    try:
        async with time_limit(tool.timeout_seconds) as timeout:
            observation = await tool.handle(event)
        wire = _readable(_writable(observation.to_wire()))
    except asyncio.CancelledError:
        if is_asked_to_stop():
            raise
        return _error(event, f"`{event.tool_name}` gave up: something it waited for was cancelled.", FAILED)
    except CallSuspendedError:
        raise
    except TimeoutError as error:
        if not timeout.expired():
            return _error(event, failure(event.tool_name, f"it did not end: {error}"), FAILED)
        limit = f"within {tool.timeout_seconds:g} seconds"
        return _error(event, f"`{event.tool_name}` did not end {limit}; it may have run in part.", FAILED)
    except (Exception, SystemExit) as error:  # a command line's `main` exits; the agent must not
        logger.exception("tool failed", extra={"tool": event.tool_name, "action_id": event.id})
        return _error(event, failure(event.tool_name, f"{type(error).__name__}: {error}"), FAILED)
    return ObservationEvent(
        tool_name=event.tool_name,
        tool_call_id=event.tool_call_id,
        observation=wire,
        action_id=event.id,
    )


def interrupted(event: ActionEvent, *, by: str, may_have_run: bool) -> AgentErrorEvent:
    """Returns the error event for a tool call that was interrupted and will never have a result.

    `by`: a text that says who or what interrupted the call, such as "by the user". `may_have_run`: whether
    the tool may have begun to run.
    """
    if may_have_run:
        text = (
            f"Interrupted {by}; it may have run, wholly or in part. "
            "Check what it did before you repeat it or build on it."
        )
    else:
        text = f"Not run: the work was interrupted {by} before this call was reached."
    return _error(event, text, INTERRUPTED)


def is_asked_to_stop() -> bool:
    """Returns whether the current asyncio task itself was cancelled. Returns False if only a task or future
    for which the current task waits was cancelled.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def touched(event: ActionEvent, result: ToolResult, tools: Mapping[str, AnyTool]) -> Sequence[Path]:
    """Returns the files and directories that a completed tool call has read or changed. Returns an empty list
    if the call failed.
    """
    tool = tools.get(event.tool_name)
    if tool is None or event.action is None or not isinstance(result, ObservationEvent):
        return ()
    try:
        return tool.touches(tool.action_type.of(event), result.observation)
    except Exception:
        logger.exception("touches failed", extra={"tool": event.tool_name, "action_id": event.id})
        return ()


def ready(pending: Sequence[ActionEvent], tools: Mapping[str, AnyTool]) -> list[ActionEvent]:
    """Returns the pending tool calls (calls without a result) that may run now, in the order of the log. A
    call may run if it does not conflict with an earlier pending call. Whether two calls conflict depends on
    their claims: the resources that they use, such as files.

    The result depends only on the calls and the tools. So after a crash of the server, the same calls give
    the same result, which shows the calls that may have begun before the crash.
    """
    found: list[ActionEvent] = []
    earlier: list[Claim] = []
    for event in pending:
        claims = claims_of(event, tools)
        if not conflict(claims, earlier):
            found.append(event)
        earlier.extend(claims)
    return found


def claims_of(event: ActionEvent, tools: Mapping[str, AnyTool]) -> Sequence[Claim]:
    """Returns the claims of a tool call. A claim names a resource that the call uses, such as a file; claims
    decide which calls may run at the same time. If the tool cannot determine its claims, the result claims
    all resources. If the call cannot run, the result is empty.
    """
    tool = tools.get(event.tool_name)
    if tool is None or event.action is None:
        return NOTHING  # the call only gets an error as its answer
    try:
        return tool.claims(tool.action_type.of(event))
    except Exception:
        logger.exception("claims failed", extra={"tool": event.tool_name, "action_id": event.id})
        return EVERYTHING


def _writable(value: Any) -> Any:
    """Returns the tool's result without characters that UTF-8 cannot encode. File names may contain such
    characters, but the log cannot store them.
    """
    match value:
        case str():
            return value if value.isascii() else value.encode(errors="replace").decode()
        case list():
            return [_writable(item) for item in value]
        case dict():
            return {name: _writable(item) for name, item in value.items()}
        case _:
            return value


def _readable(wire: dict[str, Any]) -> dict[str, Any]:
    """Returns a tool's result (as JSON) in which long texts are shortened to MAX_RESULT_CHARS, so that the
    model can read them.
    """
    parts = [_shortened(part) if part.get("type") == "text" else part for part in wire["content"]]
    return {**wire, "content": parts}


def _shortened(part: dict[str, Any]) -> dict[str, Any]:
    return {**part, "text": truncate_middle(part["text"], MAX_RESULT_CHARS)}


def _error(event: ActionEvent, text: str, classification: ErrorClassification) -> AgentErrorEvent:
    return AgentErrorEvent(
        tool_name=event.tool_name,
        tool_call_id=event.tool_call_id,
        error=truncate_middle(text, MAX_ERROR_CHARS),
        classification=classification,
    )
