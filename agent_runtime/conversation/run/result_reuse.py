"""Skips a tool call that repeats an earlier call, if the earlier result is certainly still valid.

The model gets a short text which says that the earlier result is still valid, and does not get the same long
text twice. If it is not certain that the earlier result is valid, the call is executed. The decision depends
only on the log and the files, so it is also possible after a restart of the server.
"""

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime

from agent_runtime.agent.execute import claims_of
from agent_runtime.conversation.event_log.fold import is_navigation
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.condensation import Condensation
from agent_runtime.events.observation import ObservationEvent
from agent_runtime.events.union import AnyEvent
from agent_runtime.tools.tool import AnyTool, Tool

logger = logging.getLogger(__name__)

LOOK_BACK_EVENTS = 64
MIN_CHARS = 1_000
"""The minimum length of an earlier result for which a repeated call is skipped. If the earlier result is
shorter, the call is executed again, so that the model need not search the prompt for that result.
"""

_STILL_HOLDS = (
    "Nothing has changed since you made this very call before: that answer, further up, still holds and is "
    "not repeated here."
)


def reused(
    action: ActionEvent, recent: Iterable[AnyEvent], tools: Mapping[str, AnyTool]
) -> ObservationEvent | None:
    """Returns a short result for a tool call, if an earlier call with the same tool and arguments has a long
    result that is still valid. Otherwise returns None. `recent`: the events before the tool call, newest
    first.

    The earlier result is valid if it is not an error and three conditions are met. All tool calls after the
    earlier call only read. The earlier result is still in the model's prompt. The tool itself finds that
    nothing has changed, for example in the file that was read.
    """
    tool = tools.get(action.tool_name)
    if tool is None or action.action is None or type(tool).is_unchanged is Tool.is_unchanged:
        return None
    answers: dict[str, ObservationEvent] = {}
    for event in recent:
        match event:
            case ObservationEvent():
                answers[event.action_id] = event
            case ActionEvent() if event.id == action.id:
                continue
            case ActionEvent() if _is_same(event, action):
                answer = answers.get(event.id)
                is_good = answer is not None and _is_worth_it(answer) and _holds(tool, event)
                return _repeated(action, answer) if answer is not None and is_good else None
            case ActionEvent() if not all(claim.is_shared for claim in claims_of(event, tools)):
                return None
            case Condensation():
                return None
            case _ if is_navigation(event):
                return None
            case _:
                continue
    return None


def _is_same(earlier: ActionEvent, action: ActionEvent) -> bool:
    return earlier.tool_name == action.tool_name and earlier.action == action.action


def _is_worth_it(answer: ObservationEvent) -> bool:
    content = answer.observation.get("content") or []
    chars = sum(len(part.get("text", "")) for part in content)
    return not answer.observation.get("is_error") and chars >= MIN_CHARS


def _holds(tool: AnyTool, earlier: ActionEvent) -> bool:
    # The time of the call and not of its answer: the answer may lack changes that were made between the two.
    since = datetime.fromisoformat(earlier.timestamp).timestamp()
    try:
        return tool.is_unchanged(tool.action_type.of(earlier), since)
    except Exception:
        logger.exception("is_unchanged failed", extra={"tool": tool.name, "action_id": earlier.id})
        return False


def _repeated(action: ActionEvent, answer: ObservationEvent) -> ObservationEvent:
    content = [{"cache_prompt": False, "type": "text", "text": _STILL_HOLDS}]
    return ObservationEvent(
        tool_name=action.tool_name,
        tool_call_id=action.tool_call_id,
        observation={**answer.observation, "content": content},
        action_id=action.id,
    )
