"""Computes a conversation's state only from the events of its log. Adding one event takes the same time for a
short and for a long log.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from agent_runtime.agent import stuck
from agent_runtime.context.path_rules import names_in
from agent_runtime.conversation.event_log import proof
from agent_runtime.conversation.event_log.sub_agent_task import TASKS, Task, answered
from agent_runtime.conversation.run.goal import GOAL, Goal
from agent_runtime.conversation.run.nudge import is_finish_reminder
from agent_runtime.conversation.run.unproven_claims import is_unproven
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import JsonObject
from agent_runtime.events.condensation import Condensation, CondensationRequest
from agent_runtime.events.critic import CriticResult
from agent_runtime.events.errors import ConversationErrorEvent
from agent_runtime.events.hook import HookExecutionEvent, HookPoint
from agent_runtime.events.message import MessageEvent, SystemPromptEvent
from agent_runtime.events.observation import AgentErrorEvent, ObservationEvent, UserRejectObservation
from agent_runtime.events.state import (
    ConversationStateUpdateEvent,
    ExecutionStatus,
    InterruptEvent,
    PauseEvent,
)
from agent_runtime.events.union import AnyEvent
from agent_runtime.llm.conversation_costs import NO_STATS

FINISH = "finish"
INVOKE_SKILL = "invoke_skill"
POLICY = "confirmation_policy"
ANALYZER = "security_analyzer"
APPROVED = "approved_actions"
"""The name of a field in the JSON value of the state update events whose key is `agent_state`. The field
contains the list of the kinds of actions that no longer need the user's confirmation.
"""
AGENT = "agent"
"""The key of an event that updates the state. The value is the agent's new configuration, for example with
another model.
"""
CHILDREN = "sub_conversation_ids"
"""The key of an event that updates the state. The value is the list of the ids of all conversations that this
conversation has started.
"""
LEAF = "leaf_event_id"
"""The key of an event that updates the state. The value is the id of an earlier event to which the
conversation was moved back and from which it continues.
"""


@dataclass(frozen=True)
class State:
    """The state of a conversation after the events of its log.

    `status`: the last logged status; whether the agent is working now is not stored here. `pending`: the tool
    calls without a result, in order. `unseen_messages`: the position and the id of each message that the
    model has not seen.

    Three fields cover only the time since the user's last message. `critique`: the critic's last judgement of
    the agent's work. `critiques`: the number of these judgements. `stop_denials`: how often Stop hooks have
    made the agent continue.

    `replied_without_call`: whether the agent's last reply has no tool call; False after a new message of the
    user. `told_to_finish`: whether the runtime has already told the agent to continue or to call `finish`;
    False again after a tool call or a message of the user. `work`: which files the agent has changed, and
    which commands ran after the last change.

    `wants_condensation`: whether a condensation (a summary that replaces older events) was requested and is
    neither complete nor failed yet. `given_rules`: the names of the path rules (instructions for certain
    files) that the model has got with results of tool calls.

    `agent`: the agent's configuration after its last change, without API keys. `title`, `tags`: the last
    values that were set. Each of these three is None if it was not changed after the creation of the
    conversation. `safeguards`: the confirmation policy and the security analyzer that were set after the
    creation. `approved`: the kinds of actions that the user has approved for this whole conversation.
    `shell_dir`: the directory of the agent's shell after its last command.

    `children`: the ids of the conversations that this conversation has started. `tasks`: the tasks of
    sub-agents, by task id.
    """

    last_seq: int = 0
    last_timestamp: str = ""
    leaf_event_id: str | None = None
    has_system_prompt: bool = False
    status: ExecutionStatus = ExecutionStatus.IDLE
    pending: tuple[ActionEvent, ...] = ()
    has_unseen_result: bool = False
    unseen_messages: tuple[tuple[int, str], ...] = ()
    run_seq: int = 0
    pause_seq: int = 0
    last_user_message_id: str | None = None
    final_response: str = ""
    wants_condensation: bool = False
    trail: stuck.Trail = ()
    activated_skills: tuple[str, ...] = ()
    given_rules: tuple[str, ...] = ()
    invoked_skills: tuple[str, ...] = ()
    title: str | None = None
    tags: dict[str, str] | None = None
    safeguards: dict[str, Any] = field(default_factory=dict)
    approved: tuple[str, ...] = ()
    shell_dir: str | None = None
    stats: dict[str, Any] = field(default_factory=lambda: NO_STATS)
    goal: Goal | None = None
    children: tuple[UUID, ...] = ()
    tasks: Mapping[str, Task] = field(default_factory=dict)
    agent: JsonObject | None = None
    stop_denials: int = 0
    critique: CriticResult | None = None
    critiques: int = 0
    work: proof.Work = proof.NOTHING_DONE
    replied_without_call: bool = False
    told_to_finish: bool = False
    blocked_messages: dict[str, str] = field(default_factory=dict)
    blocked_actions: dict[str, str] = field(default_factory=dict)

    @property
    def has_work(self) -> bool:
        """Whether the agent has something to do: an unanswered tool call, or a result or a message that the
        model has not seen.
        """
        return bool(self.pending or self.unseen_messages) or self.has_unseen_result

    @property
    def must_ask(self) -> bool:
        """Whether the agent must ask the user what to do. This becomes True when the runtime tells the agent
        that it repeats itself and must ask. It becomes False when the user has answered.
        """
        return stuck.must_ask(self.trail)

    @property
    def refused_calls(self) -> tuple[ActionEvent, ...]:
        """The pending tool calls (those without a result) that the runtime refuses to execute. While the
        agent must ask the user what to do, because it repeats itself, these are all calls except calls of
        `finish`. At all other times, the result is empty.
        """
        return tuple(action for action in self.pending if self.must_ask and action.tool_name != FINISH)

    @property
    def wants_pause(self) -> bool:
        """Whether the user has requested a pause since the current run (work of the agent) began."""
        return self.pause_seq > self.run_seq

    def is_pending(self, tool_call_id: str) -> bool:
        return any(action.tool_call_id == tool_call_id for action in self.pending)


if TYPE_CHECKING:
    from dataclasses import replace
else:

    def replace(state: State, /, **changes: Any) -> State:
        """Returns a copy of the state with some fields changed. It is used in place of `dataclasses.replace`,
        which gives the same result but takes ten times as long.
        """
        changed = object.__new__(State)
        vars(changed).update(vars(state), **changes)
        return changed


def fold(state: State, events: Iterable[tuple[AnyEvent, int | None]]) -> State:
    """Returns the state of a conversation after several more events. `state`: the state before the events.
    `events`: pairs of an event and a position. The position is that of the last event that the model had seen
    when it wrote the event; None if the model did not write the event.
    """
    for event, seen_seq in events:
        state = after(state, event, seen_seq)
    return state


def after(state: State, event: AnyEvent, seen_seq: int | None = None, *, seq: int | None = None) -> State:
    """Returns the state of a conversation after one more event. `state`: the state before the event.
    `seen_seq`: the last position that the model had seen when it wrote the event; None if the model did not
    write the event. `seq`: the event's position; None means the next position.
    """
    position = state.last_seq + 1 if seq is None else seq
    state = _apply(replace(state, last_seq=position, last_timestamp=event.timestamp), event)
    if not isinstance(event, ConversationStateUpdateEvent):
        state = replace(state, leaf_event_id=event.id)
    if seen_seq is None:
        return state
    unseen = tuple((at, message) for at, message in state.unseen_messages if at > seen_seq)
    return replace(state, unseen_messages=unseen, has_unseen_result=False)


def _apply(state: State, event: AnyEvent) -> State:
    match event:
        case SystemPromptEvent():
            state = replace(state, has_system_prompt=True)
        case MessageEvent():
            state = _apply_message(state, event)
        case ActionEvent():
            state = _apply_action(state, event)
        case ObservationEvent() | AgentErrorEvent() | UserRejectObservation():
            state = _apply_result(state, event)
        case ConversationStateUpdateEvent():
            state = _apply_update(state, event)
        case PauseEvent() | InterruptEvent():
            state = replace(state, pause_seq=state.last_seq)
        case CondensationRequest() | Condensation():
            state = replace(state, wants_condensation=isinstance(event, CondensationRequest))
        case HookExecutionEvent():
            state = _apply_hook(state, event)
        case ConversationErrorEvent():
            # Without this, a condenser that fails would make every later run fail.
            state = replace(state, wants_condensation=False)
        case _:
            pass  # of no consequence for the run
    return state


def _apply_message(state: State, event: MessageEvent) -> State:
    state = replace(state, trail=stuck.after_message(state.trail, event))
    if event.source == "agent":
        state = _apply_critique(state, event.critic_result)
        return replace(state, final_response=event.llm_message.text, replied_without_call=True)
    activated = tuple(dict.fromkeys((*state.activated_skills, *event.activated_skills)))
    unseen = (*state.unseen_messages, (state.last_seq, event.id))
    state = replace(state, unseen_messages=unseen, activated_skills=activated)
    if event.source != "user":
        if is_unproven(event):
            return replace(state, work=proof.questioned(state.work))
        return replace(state, told_to_finish=state.told_to_finish or is_finish_reminder(event))
    return replace(
        state,
        last_user_message_id=event.id,
        stop_denials=0,
        critique=None,
        critiques=0,
        work=proof.after_user_message(state.work),
        replied_without_call=False,
        told_to_finish=False,
    )


def _apply_action(state: State, event: ActionEvent) -> State:
    state = replace(state, pending=(*state.pending, event), replied_without_call=False, told_to_finish=False)
    return _apply_critique(state, event.critic_result) if event.tool_name == FINISH else state


def _apply_result(state: State, event: ObservationEvent | AgentErrorEvent | UserRejectObservation) -> State:
    call = next((a for a in state.pending if a.tool_call_id == event.tool_call_id), None)
    pending = tuple(action for action in state.pending if action is not call)
    has_finished = isinstance(event, ObservationEvent) and event.tool_name == FINISH
    state = replace(state, pending=pending, has_unseen_result=not has_finished)
    if call is not None:
        trail = stuck.after_result(state.trail, call, event)
        state = replace(state, trail=trail, tasks=answered(state.tasks, call.id))
        if isinstance(event, ObservationEvent):
            state = replace(state, work=proof.after_result(state.work, call, event))
    if isinstance(event, ObservationEvent) and event.extended_content:
        given = dict.fromkeys((*state.given_rules, *names_in(event.extended_content)))
        state = replace(state, given_rules=tuple(given))
    if isinstance(event, ObservationEvent) and "working_dir" in event.observation.get("metadata", {}):
        state = replace(state, shell_dir=event.observation["metadata"]["working_dir"])
    if isinstance(event, ObservationEvent) and event.tool_name == INVOKE_SKILL:
        invoked = dict.fromkeys((*state.invoked_skills, str(event.observation.get("skill_name"))))
        state = replace(state, invoked_skills=tuple(invoked))
    if has_finished and call is not None and call.action is not None:
        return replace(state, final_response=str(call.action.get("message", "")))
    return state


def _apply_critique(state: State, critique: CriticResult | None) -> State:
    return replace(state, critique=critique, critiques=state.critiques + (critique is not None))


def _apply_hook(state: State, event: HookExecutionEvent) -> State:
    if not event.blocked:
        return state
    reason = event.reason or ""
    match event.hook_event_type:
        case HookPoint.STOP:
            return replace(state, stop_denials=state.stop_denials + 1)
        case HookPoint.PRE_TOOL_USE if event.action_id:
            return replace(state, blocked_actions={**state.blocked_actions, event.action_id: reason})
        case HookPoint.USER_PROMPT_SUBMIT if event.message_id:
            # The model never sees a blocked message.
            unseen = tuple(one for one in state.unseen_messages if one[1] != event.message_id)
            blocked = {**state.blocked_messages, event.message_id: reason}
            return replace(state, unseen_messages=unseen, blocked_messages=blocked)
        case _:
            return state


# Fields whose updates are their new values, by key.
_PLAIN_FIELDS = {"stats": "stats", "title": "title", "tags": "tags", AGENT: "agent", LEAF: "leaf_event_id"}


def _apply_update(state: State, event: ConversationStateUpdateEvent) -> State:
    changes: dict[str, Any] = {}
    match event.key:
        case "execution_status":
            changes["status"] = ExecutionStatus(event.value)
            if event.value == ExecutionStatus.RUNNING:
                changes["run_seq"] = state.last_seq
            elif event.value == ExecutionStatus.STUCK:
                changes["trail"] = ()  # a new run means: try again
        case str(key) if key in _PLAIN_FIELDS:
            changes[_PLAIN_FIELDS[key]] = event.value
        case str(key) if key in {POLICY, ANALYZER}:
            changes["safeguards"] = {**state.safeguards, key: event.value}
        case "agent_state":
            changes = _of_agent_state(state, event.value)
        case str(key) if key == CHILDREN:
            changes["children"] = tuple(map(UUID, event.value))
        case str(key) if key == GOAL:
            changes["goal"] = Goal.model_validate(event.value)
        case _:
            pass  # of no consequence for the run
    return replace(state, **changes)


def _of_agent_state(state: State, value: JsonObject) -> dict[str, Any]:
    if TASKS in value:
        news = {task_id: Task.model_validate(one) for task_id, one in value[TASKS].items()}
        return {"tasks": {**state.tasks, **news}}
    if proof.PROOF in value:
        return {"work": proof.reported(state.work)}
    return {"approved": tuple(value[APPROVED])} if APPROVED in value else {}
