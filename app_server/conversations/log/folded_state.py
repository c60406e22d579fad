"""Computes the folded state of a conversation: the settings, the task list and the open tool calls (calls
without a result) at the end of the log. The folded state is stored as the positions of the events that
determine it.

With the folded state, a client can show the last events of a conversation without reading the whole log. The
client first applies the events of the folded state in order, and then the last events of the log. The result
is the same as after applying the whole log, because only the last event about each part of the state matters.

The function `fold` processes one event at a time. This module does no I/O.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

_MAX_TASKS = 200
_MAX_OPEN_CALLS = 200
_MAX_ID = 128
_GOAL_HAS_ENDED = frozenset(("complete", "capped"))
_ANSWERS = frozenset(("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"))
_MCP_PARTS = ("mcp_changes", "mcp_questions")


@dataclass(frozen=True)
class FoldedState:
    """The positions of those events of a log that determine a conversation's settings, task list and open
    tool calls. `seq`: the position of the last event that was processed.

    parts: for each part of the state except tasks and tool calls, the position of the last event about this
    part. The keys are the names of the parts, such as `goal`. tasks: for each task id, the position of the
    last event about this task.

    calls: the tool calls whose result is not in the log yet. Each key is the id of a tool call. Each value is
    the id of the event that requested the call (ActionEvent), and the position of this event.

    status: the last execution status; an event that repeats it does not change its position in `parts`.
    goal_has_ended: whether the last goal has ended; then the next message of the user removes the goal from
    the state.
    """

    seq: int = 0
    parts: Mapping[str, int] = field(default_factory=dict)
    tasks: Mapping[str, int] = field(default_factory=dict)
    calls: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    status: str | None = None
    goal_has_ended: bool = False

    @property
    def positions(self) -> set[int]:
        return {*self.parts.values(), *self.tasks.values(), *(seq for _, seq in self.calls.values())}

    def stored(self) -> dict[str, Any]:
        """Returns the positions in this object as JSON values, which are stored in the row of the
        conversation.
        """
        return {
            "seq": self.seq,
            "parts": dict(self.parts),
            "tasks": dict(self.tasks),
            "calls": {call: list(action) for call, action in self.calls.items()},
            "status": self.status,
            "goal_has_ended": self.goal_has_ended,
        }


def restored(stored: Mapping[str, Any] | None) -> FoldedState:
    """Converts the JSON values that are stored in the row of a conversation to a FoldedState. `stored`: a
    result of the method FoldedState.stored; None means an empty log.
    """
    if stored is None:
        return FoldedState()
    calls = {call: (action, seq) for call, (action, seq) in stored["calls"].items()}
    return FoldedState(**{**stored, "calls": calls})


def fold(state: FoldedState, seq: int, event: Mapping[str, Any]) -> FoldedState:
    """Takes the next event of the log into account and returns the new folded state: the positions of the
    events that determine settings, task list and open tool calls. `state`: the folded state before this
    event. `seq`: the position of this event. Accepts events of any kind and shape; an unknown event changes
    only the field `seq`.
    """
    state = replace(state, seq=seq)
    match event:
        case {"kind": "ActionEvent", "id": str(id_), "tool_call_id": str(call)} if len(call) <= _MAX_ID:
            return replace(state, calls=_newest({**state.calls, call: (id_, seq)}, _MAX_OPEN_CALLS))
        case {"kind": str(kind)} if kind in _ANSWERS:
            return _with_answer(state, seq, event)
        case {"kind": "MessageEvent", "source": "user"} if state.goal_has_ended:
            parts = {name: at for name, at in state.parts.items() if name != "goal"}
            return replace(state, parts=parts, goal_has_ended=False)
        case {"kind": "ConversationStateUpdateEvent", "key": str(key), "value": value}:
            return _with_update(state, seq, key, value)
        case _:
            return state


def _with_answer(state: FoldedState, seq: int, event: Mapping[str, Any]) -> FoldedState:
    answered, call = event.get("action_id"), event.get("tool_call_id")
    left = {
        known: action
        for known, action in state.calls.items()
        if action[0] != answered and not (answered is None and known == call)
    }
    state = replace(state, calls=left)
    match event.get("observation"):
        case {"kind": "BrowserObservation", "content": list(content)}:
            has_image = any(isinstance(part, Mapping) and part.get("type") == "image" for part in content)
            return _with_parts(state, seq, "page", *(["picture"] if has_image else []))
        case _:
            return state


def _with_update(state: FoldedState, seq: int, key: str, value: Any) -> FoldedState:
    match key, value:
        case "execution_status", str(status):
            return _with_status(state, seq, status)
        case "full_state", {"execution_status": str(status)}:
            return _with_status(_with_parts(state, seq, "stats"), seq, status)
        case "stats" | "confirmation_policy", _:
            return _with_parts(state, seq, key)
        case "goal", {"status": str(status)}:
            return replace(_with_parts(state, seq, key), goal_has_ended=status in _GOAL_HAS_ENDED)
        case "agent_state", dict(agent_state):
            return _with_agent_state(state, seq, agent_state)
        case _:
            # Going back to an earlier event undoes the open calls.
            return replace(state, calls={}) if key == "leaf_event_id" else state


def _with_status(state: FoldedState, seq: int, status: str) -> FoldedState:
    # Among events with the same status, the first one is kept, because it tells since when the status holds.
    status = status[:_MAX_ID]
    return (
        state
        if status == state.status
        else replace(_with_parts(state, seq, "execution_status"), status=status)
    )


def _with_agent_state(state: FoldedState, seq: int, agent_state: Mapping[str, Any]) -> FoldedState:
    tasks = agent_state.get("tasks")
    if isinstance(tasks, Mapping):
        named = {id_: seq for id_ in tasks if len(id_) <= _MAX_ID}
        state = replace(state, tasks=_newest({**state.tasks, **named}, _MAX_TASKS))
    return _with_parts(state, seq, *(name for name in _MCP_PARTS if name in agent_state))


def _with_parts(state: FoldedState, seq: int, *names: str) -> FoldedState:
    return replace(state, parts={**state.parts, **dict.fromkeys(names, seq)}) if names else state


def _newest(entries: dict[str, Any], most: int) -> dict[str, Any]:
    return dict(list(entries.items())[-most:])


def fold_all(state: FoldedState, events: Iterator[tuple[int, Mapping[str, Any]]]) -> FoldedState:
    for seq, event in events:
        state = fold(state, seq, event)
    return state
