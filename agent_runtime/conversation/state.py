"""A conversation's state: a pure fold over its log, updated in the same time however long the log is."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from agent_runtime.agent import stuck
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.condensation import Condensation, CondensationRequest
from agent_runtime.events.errors import ConversationErrorEvent
from agent_runtime.events.message import MessageEvent, SystemPromptEvent
from agent_runtime.events.observation import AgentErrorEvent, ObservationEvent, UserRejectObservation
from agent_runtime.events.state import (
    ConversationStateUpdateEvent,
    ExecutionStatus,
    InterruptEvent,
    PauseEvent,
)
from agent_runtime.events.union import AnyEvent
from agent_runtime.llm.cost import BUDGET_REACHED, NO_STATS, total_cost

FINISH = "finish"
INVOKE_SKILL = "invoke_skill"
LEAF = "leaf_event_id"
"""The key of the update by which a conversation goes back to an earlier event, to go on from there."""


@dataclass(frozen=True)
class State:
    """What a log amounts to.

    status: as last logged. Whether a run is going on is not here: that is a live task, never a stored word.
    pending: the calls without a result, in order.
    wants_condensation: somebody asked for a condensation and it has neither been made nor failed yet.
    title, tags: None as long as those of the creation hold.
    """

    last_seq: int = 0
    last_timestamp: str = ""
    leaf_event_id: str | None = None
    has_system_prompt: bool = False
    status: ExecutionStatus = ExecutionStatus.IDLE
    pending: tuple[ActionEvent, ...] = ()
    has_unseen_result: bool = False
    last_message_seq: int = 0
    seen_seq: int = 0
    run_seq: int = 0
    pause_seq: int = 0
    last_user_message_id: str | None = None
    final_response: str = ""
    wants_condensation: bool = False
    trail: stuck.Trail = ()
    activated_skills: tuple[str, ...] = ()
    invoked_skills: tuple[str, ...] = ()
    title: str | None = None
    tags: dict[str, str] | None = None
    stats: dict[str, Any] = field(default_factory=lambda: NO_STATS)
    cost_when_stopped: float = 0.0

    @property
    def cost_since_stop(self) -> float:
        """Dollars spent since the budget was last reached."""
        return total_cost(self.stats) - self.cost_when_stopped

    @property
    def has_work(self) -> bool:
        """Something waits for the agent: an unanswered call, a result or a message the model has not seen."""
        return bool(self.pending) or self.has_unseen_result or self.last_message_seq > self.seen_seq

    @property
    def wants_pause(self) -> bool:
        """A pause was asked for since the run began."""
        return self.pause_seq > self.run_seq

    def is_pending(self, tool_call_id: str) -> bool:
        return any(action.tool_call_id == tool_call_id for action in self.pending)


def fold(state: State, events: Iterable[tuple[AnyEvent, int | None]]) -> State:
    """The state after these events, each with the last position the model had seen when it said it."""
    for event, seen_seq in events:
        state = after(state, event, seen_seq)
    return state


def after(state: State, event: AnyEvent, seen_seq: int | None = None, *, seq: int | None = None) -> State:
    """The state after one more event, which takes the next position, or `seq` where a branch skips some."""
    position = state.last_seq + 1 if seq is None else seq
    state = _apply(replace(state, last_seq=position, last_timestamp=event.timestamp), event)
    if not isinstance(event, ConversationStateUpdateEvent):
        state = replace(state, leaf_event_id=event.id)
    if seen_seq is None:
        return state
    return replace(state, seen_seq=max(state.seen_seq, seen_seq), has_unseen_result=False)


def _apply(state: State, event: AnyEvent) -> State:
    match event:
        case SystemPromptEvent():
            state = replace(state, has_system_prompt=True)
        case MessageEvent():
            state = _apply_message(state, event)
        case ActionEvent():
            state = replace(state, pending=(*state.pending, event))
        case ObservationEvent() | AgentErrorEvent() | UserRejectObservation():
            state = _apply_result(state, event)
        case ConversationStateUpdateEvent():
            state = _apply_update(state, event)
        case PauseEvent() | InterruptEvent():
            state = replace(state, pause_seq=state.last_seq)
        case CondensationRequest():
            state = replace(state, wants_condensation=True)
        case Condensation():
            state = replace(state, wants_condensation=False)
        case ConversationErrorEvent():
            state = _apply_error(state, event)
        case _:
            pass  # of no consequence for the run
    return state


def _apply_message(state: State, event: MessageEvent) -> State:
    state = replace(state, trail=stuck.after_message(state.trail, event))
    if event.source == "agent":
        return replace(state, final_response=event.llm_message.text)
    activated = (*state.activated_skills, *event.activated_skills)
    state = replace(state, last_message_seq=state.last_seq, activated_skills=activated)
    return replace(state, last_user_message_id=event.id) if event.source == "user" else state


def _apply_result(state: State, event: ObservationEvent | AgentErrorEvent | UserRejectObservation) -> State:
    answered = next((a for a in state.pending if a.tool_call_id == event.tool_call_id), None)
    pending = tuple(action for action in state.pending if action is not answered)
    has_finished = isinstance(event, ObservationEvent) and event.tool_name == FINISH
    state = replace(state, pending=pending, has_unseen_result=not has_finished)
    if answered is not None:
        state = replace(state, trail=stuck.after_result(state.trail, answered, event))
    if isinstance(event, ObservationEvent) and event.tool_name == INVOKE_SKILL:
        invoked = dict.fromkeys((*state.invoked_skills, str(event.observation.get("skill_name"))))
        state = replace(state, invoked_skills=tuple(invoked))
    if has_finished and answered is not None and answered.action is not None:
        return replace(state, final_response=str(answered.action.get("message", "")))
    return state


def _apply_error(state: State, event: ConversationErrorEvent) -> State:
    # Or else a condenser that fails would fail every run from now on.
    state = replace(state, wants_condensation=False)
    if event.code != BUDGET_REACHED:
        return state
    return replace(state, cost_when_stopped=total_cost(state.stats))


def _apply_update(state: State, event: ConversationStateUpdateEvent) -> State:
    match event.key:
        case "execution_status":
            status = ExecutionStatus(event.value)
            run_seq = state.last_seq if status is ExecutionStatus.RUNNING else state.run_seq
            # Whoever runs it again wants it to try again.
            trail = () if status is ExecutionStatus.STUCK else state.trail
            return replace(state, status=status, run_seq=run_seq, trail=trail)
        case "stats":
            return replace(state, stats=event.value)
        case "title":
            return replace(state, title=event.value)
        case "tags":
            return replace(state, tags=event.value)
        case str(key) if key == LEAF:
            return replace(state, leaf_event_id=event.value)
        case _:
            return state
