"""Detects that the agent repeats itself. Only the last few steps are checked. A step is one tool call or
message of the agent; the conversation's state contains the list of steps (`Trail`).

At the first repetition, a message in the event log advises the agent to do something else. At the next
repetition, the agent must ask the user, if a user can reply. If the agent repeats itself even after the
user's reply, it is stuck and is stopped. Waiting for a running command is not a step.

Every message of the user clears the list of steps. If the message is the reply to the agent's question, it is
then the first step of the new list.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import orjson

from agent_runtime.events.action import ActionEvent
from agent_runtime.events.errors import INTERRUPTED, ErrorClassification
from agent_runtime.events.message import Message, MessageEvent
from agent_runtime.events.observation import AgentErrorEvent, ObservationEvent, ToolResult
from agent_runtime.wire import StuckDetectionThresholds

TRAIL_STEPS = 64
_TERMINAL = "terminal"
_ONLY_SLEEP = re.compile(r"sleep\s+[\d.]+[smh]?")
_REFUSED = ErrorClassification(kind="agent_action", retryable=False, user_action="none")


@dataclass(frozen=True)
class StepDigest:
    """One step of the agent, in a short form that can be compared with other steps. For a tool call, `action`
    and `result` are the hashes of the call and of its result; a failed call has no hash of the result.

    `kind`: the kind of the step. `call` is a tool call and `failure` a failed tool call. `wait` is a command
    that begins with `sleep` and then does something else. `speech` is a message of the agent. `nudge` is a
    message that advises the agent to do something else. `ask` is the message that tells the agent to ask the
    user; `answer` is the user's reply.
    """

    kind: Literal["call", "failure", "wait", "speech", "nudge", "ask", "answer"]
    action: str = ""
    result: str = ""


Trail = tuple[StepDigest, ...]
"""The agent's last steps (tool calls and messages) since the user's last message, oldest first."""


@dataclass(frozen=True)
class Loop:
    """A detected loop: the agent repeats the same steps. `advice`: the text of the next message to the agent;
    None if the agent gets no more advice and must be stopped.
    """

    advice: str | None

    def message(self) -> MessageEvent | None:
        if self.advice is None:
            return None
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
_ASK = (
    "You are still going in circles: stop here and ask the user. Do not call any tool but `finish`. "
    "Say in a short message what you were about to do, what blocks you and what you have tried, and put one "
    "question whose answer lets you go on."
)
_ONLY_ASK = "Not run: you were told to stop and to ask the user."

_WAITS_PER_CALL = 5
"""A factor for the number of repetitions that count as a loop. For a command that begins with `sleep`, this
number is multiplied by the factor, because agents use such commands to check something again later.
"""


def look(trail: Trail, limits: StuckDetectionThresholds, *, may_ask: bool = False) -> Loop | None:
    """Checks whether the agent's last steps are a loop, and returns the loop. Returns None if there is no
    loop. Also returns None if the agent has done nothing since the last advice, or since the user's reply to
    the agent's question.

    If the agent was told to ask the user but calls a tool, this is also a loop. It has no advice, so the
    agent is stopped.

    `trail`: the agent's last steps. `limits`: how many repetitions count as a loop. `may_ask`: whether a user
    is present and can reply.
    """
    if not trail or trail[-1].kind in {"nudge", "ask", "answer"}:
        return None
    last, limit = trail[-1], limits.action_observation
    if must_ask(trail) and last.kind != "speech":
        return Loop(None)  # it was told to ask, and did something else
    match last.kind:
        case "speech":
            return _loop(trail, limits.monologue, _TALKING, lambda step, _: step.kind == "speech", may_ask)
        case "failure":
            return _loop(trail, limits.action_error, _FAILING, lambda step, _: step == last, may_ask)
        case "wait":
            return _loop(trail, limit * _WAITS_PER_CALL, _REPEATED, lambda step, _: step == last, may_ask)
        case _:
            repeated = _loop(trail, limit, _REPEATED, lambda step, _: step == last, may_ask)
            return repeated or _alternation(trail, limits.alternating_pattern, may_ask)


def must_ask(trail: Trail) -> bool:
    """Returns whether the agent has got the message that it must ask the user, and the user has not answered
    yet. `trail`: the agent's last steps.
    """
    return any(step.kind == "ask" for step in trail)


def refusal(action: ActionEvent) -> AgentErrorEvent:
    """Returns the error event for a tool call that is refused because the agent repeats itself and must first
    ask the user what to do.
    """
    return AgentErrorEvent(
        tool_name=action.tool_name, tool_call_id=action.tool_call_id, error=_ONLY_ASK, classification=_REFUSED
    )


def after_result(trail: Trail, action: ActionEvent, result: ToolResult) -> Trail:
    """Adds a tool call and its result to the list of steps (`trail`), and returns the new list.

    Returns the list unchanged if the call was interrupted or only waits. A call only waits if it waits for
    output of a running command, or if its command consists only of `sleep`. A longer command that begins with
    `sleep` is added as a step of the kind `wait`.
    """
    if _is_awaiting_output(action, result) or _is_interruption(result):
        return trail
    if isinstance(result, AgentErrorEvent):
        return _add(trail, StepDigest("failure", _digest_action(action)))
    kind: Literal["wait", "call"] = "wait" if _sleeps(action) else "call"
    return _add(trail, StepDigest(kind, _digest_action(action), _digest_result(result)))


def after_message(trail: Trail, message: MessageEvent) -> Trail:
    if message.source == "user":
        return (StepDigest("answer"),) if must_ask(trail) else ()
    if message.source == "agent":
        return _add(trail, StepDigest("speech"))
    text = message.llm_message.text
    if text == _ASK:
        return _add(trail, StepDigest("ask"))
    return _add(trail, StepDigest("nudge")) if text in _NUDGES else trail


def _add(trail: Trail, step: StepDigest) -> Trail:
    return (*trail, step)[-TRAIL_STEPS:]


def _alternation(trail: Trail, limit: int, may_ask: bool) -> Loop | None:
    steps = [step for step in trail if step.kind != "nudge"][-2:]
    if len(steps) < 2 or steps[0] == steps[1]:
        return None
    return _loop(trail, limit, _ALTERNATING, lambda step, age: step == steps[-1 - age % 2], may_ask)


def _loop(
    trail: Trail, limit: int, advice: str, fits: Callable[[StepDigest, int], bool], may_ask: bool
) -> Loop | None:
    """Returns a Loop if the agent's last `limit` steps are a loop, otherwise None. The steps are a loop if
    the function `fits` returns True for each of them. Messages with advice to the agent do not count as
    steps.

    At first, the Loop contains the text `advice`. If the agent continues the loop after this advice, the Loop
    tells the agent to ask the user. If no user is present, or if the agent was already told to ask, the Loop
    contains no text, and the agent is stopped.

    `trail`: the steps, oldest first. `fits`: gets a step and the step's age (0 for the last step, 1 for the
    step before it), and returns whether the step belongs to the loop. `may_ask`: whether a user is present.
    """
    age, is_after_nudge, was_nudged = 0, False, False
    for step in reversed(trail):
        if step.kind == "nudge":
            is_after_nudge = True
        elif fits(step, age):
            age += 1
            was_nudged = was_nudged or is_after_nudge
        else:
            break
    if age < limit:
        return None
    if not was_nudged:
        return Loop(advice)
    has_asked = any(step.kind in {"ask", "answer"} for step in trail)
    return Loop(_ASK if may_ask and not has_asked else None)


def _is_awaiting_output(action: ActionEvent, result: ToolResult) -> bool:
    """Returns whether the tool call only waits. A call with an empty command waits for new output of a
    running command; a call that consists only of `sleep` lets time pass.
    """
    if action.tool_name != _TERMINAL or action.action is None or not isinstance(result, ObservationEvent):
        return False
    command = str(action.action.get("command", "")).strip()
    has_news = not result.observation.get("is_error", False)
    return (not command and has_news) or _ONLY_SLEEP.fullmatch(command) is not None


def _sleeps(action: ActionEvent) -> bool:
    """Returns whether the action is a terminal command that begins with `sleep`. Agents use such a command to
    check something again later.
    """
    command = str((action.action or {}).get("command", "")).strip()
    return action.tool_name == _TERMINAL and command.startswith("sleep ")


def _is_interruption(result: ToolResult) -> bool:
    return isinstance(result, AgentErrorEvent) and result.classification == INTERRUPTED


def _digest_action(event: ActionEvent) -> str:
    return _digest([event.tool_name, event.action if event.action is not None else event.tool_call.arguments])


def _digest_result(result: ToolResult) -> str:
    if not isinstance(result, ObservationEvent):
        return _digest(result.kind)
    seen = result.observation
    return _digest([seen.get("content"), seen.get("is_error"), seen.get("exit_code")])


def _digest(value: object) -> str:
    return blake2b(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=8).hexdigest()
