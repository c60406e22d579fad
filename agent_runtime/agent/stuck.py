"""Whether the agent goes round in circles. Pure; looks at the last few steps only, as the state keeps them.

First the agent is told (a nudge, which is a message in the log), and only if it goes on all the same is it
stuck. Waiting for a command that still runs is no step. A message of the user begins a new trail.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import orjson

from agent_runtime.events.action import ActionEvent
from agent_runtime.events.message import Message, MessageEvent
from agent_runtime.events.observation import AgentErrorEvent, ObservationEvent, ToolResult
from agent_runtime.wire import StuckDetectionThresholds

TRAIL_STEPS = 64
_TERMINAL = "terminal"


@dataclass(frozen=True)
class Step:
    """What was done and what came of it, as digests. For a failure the result does not matter."""

    kind: Literal["call", "failure", "speech", "nudge"]
    action: str = ""
    result: str = ""


Trail = tuple[Step, ...]
"""The last steps since the user's last message, oldest first."""


@dataclass(frozen=True)
class Loop:
    """The agent repeats itself. was_nudged: it was told so and went on."""

    advice: str
    was_nudged: bool

    def nudge(self) -> MessageEvent:
        return MessageEvent(source="environment", llm_message=Message.of("user", self.advice))


_REPEATED = (
    "You have made the same call several times and got the same result each time. "
    "It will not change by itself. Think about what the result tells you, then do something else; "
    "if you cannot go on, call `finish` and say why."
)
_FAILING = (
    "The same call has failed several times. Do not send it again as it is: read the error, "
    "change the arguments or use another tool; if you cannot go on, call `finish` and say why."
)
_ALTERNATING = (
    "You are going back and forth between two calls whose results do not change. "
    "Step back, write down what you know and what you expected, and take another way; "
    "if there is none, call `finish` and say why."
)
_TALKING = (
    "You have spoken several times without doing anything. "
    "Go on with the task by calling a tool, or call `finish` if it is done."
)
_NUDGES = frozenset({_REPEATED, _FAILING, _ALTERNATING, _TALKING})


def look(trail: Trail, limits: StuckDetectionThresholds) -> Loop | None:
    """The loop that the trail ends in; None also right after a nudge, which must have its chance."""
    if not trail or trail[-1].kind == "nudge":
        return None
    last = trail[-1]
    match last.kind:
        case "speech":
            return _loop(trail, limits.monologue, _TALKING, lambda step, _: step.kind == "speech")
        case "failure":
            return _loop(trail, limits.action_error, _FAILING, lambda step, _: step == last)
        case _:
            repeated = _loop(trail, limits.action_observation, _REPEATED, lambda step, _: step == last)
            return repeated or _alternation(trail, limits.alternating_pattern)


def after_result(trail: Trail, action: ActionEvent, result: ToolResult) -> Trail:
    """The trail with one more call and what came of it."""
    if _is_waiting(action) or _is_interruption(result):
        return trail
    if isinstance(result, AgentErrorEvent):
        return _add(trail, Step("failure", _digest_action(action)))
    return _add(trail, Step("call", _digest_action(action), _digest_result(result)))


def after_message(trail: Trail, message: MessageEvent) -> Trail:
    if message.source == "user":
        return ()
    if message.source == "agent":
        return _add(trail, Step("speech"))
    return _add(trail, Step("nudge")) if message.llm_message.text in _NUDGES else trail


def _add(trail: Trail, step: Step) -> Trail:
    return (*trail, step)[-TRAIL_STEPS:]


def _alternation(trail: Trail, limit: int) -> Loop | None:
    steps = [step for step in trail if step.kind != "nudge"][-2:]
    if len(steps) < 2 or steps[0] == steps[1]:
        return None
    return _loop(trail, limit, _ALTERNATING, lambda step, age: step == steps[-1 - age % 2])


def _loop(trail: Trail, limit: int, advice: str, fits: Callable[[Step, int], bool]) -> Loop | None:
    """A loop if at least `limit` steps at the end fit; age 0 is the last one. Nudges lie between steps."""
    age, is_after_nudge, was_nudged = 0, False, False
    for step in reversed(trail):
        if step.kind == "nudge":
            is_after_nudge = True
        elif fits(step, age):
            age += 1
            was_nudged = was_nudged or is_after_nudge
        else:
            break
    return Loop(advice, was_nudged) if age >= limit else None


def _is_waiting(action: ActionEvent) -> bool:
    """An empty command asks a running one for news, and a sleep passes the time."""
    if action.tool_name != _TERMINAL or action.action is None:
        return False
    command = str(action.action.get("command", "")).strip()
    return not command or command.startswith("sleep ")


def _is_interruption(result: ToolResult) -> bool:
    classification = result.classification if isinstance(result, AgentErrorEvent) else None
    return classification is not None and classification.kind == "interrupted"


def _digest_action(event: ActionEvent) -> str:
    return _digest([event.tool_name, event.action if event.action is not None else event.tool_call.arguments])


def _digest_result(result: ToolResult) -> str:
    if not isinstance(result, ObservationEvent):
        return _digest(result.kind)
    seen = result.observation
    return _digest([seen.get("content"), seen.get("is_error"), seen.get("exit_code")])


def _digest(value: object) -> str:
    return blake2b(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=8).hexdigest()
