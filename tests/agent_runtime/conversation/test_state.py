"""Tests of the state that is computed from a log: each way to split the log into two parts gives the same
state.
"""

from hypothesis import given
from hypothesis import strategies as st

from agent_runtime.conversation.event_log.state import State, after, fold
from agent_runtime.events.action import ActionEvent, ToolCall
from agent_runtime.events.errors import ConversationErrorEvent
from agent_runtime.events.message import Message, MessageEvent
from agent_runtime.events.observation import AgentErrorEvent, ObservationEvent
from agent_runtime.events.state import (
    ConversationStateUpdateEvent,
    ExecutionStatus,
    InterruptEvent,
    PauseEvent,
    status_update,
)
from agent_runtime.events.union import AnyEvent


def action(call_id: str, tool: str = "terminal") -> ActionEvent:
    called = ToolCall(id=call_id, name=tool, arguments="{}")
    return ActionEvent(
        tool_name=tool, tool_call_id=call_id, tool_call=called, llm_response_id="r", action={"message": "bye"}
    )


def observation(call_id: str, tool: str = "terminal") -> ObservationEvent:
    return ObservationEvent(tool_name=tool, tool_call_id=call_id, observation={}, action_id="a")


def said(source: str) -> MessageEvent:
    role = "assistant" if source == "agent" else "user"
    return MessageEvent(source=source, llm_message=Message.of(role, "x"))


call_ids = st.sampled_from(["c1", "c2", "c3"])
tools = st.sampled_from(["terminal", "finish"])
events = st.one_of(
    st.builds(said, st.sampled_from(["user", "agent", "environment"])),
    st.builds(action, call_ids, tools),
    st.builds(observation, call_ids, tools),
    st.builds(AgentErrorEvent, tool_name=tools, tool_call_id=call_ids, error=st.just("no")),
    st.builds(status_update, st.sampled_from(ExecutionStatus)),
    st.builds(ConversationStateUpdateEvent, key=st.sampled_from(["title", "x"]), value=st.text(max_size=5)),
    st.builds(ConversationErrorEvent, code=st.just("E"), detail=st.just("d")),
    st.builds(PauseEvent),
    st.builds(InterruptEvent),
)
entries = st.tuples(events, st.none() | st.integers(0, 20))


@given(st.lists(entries, max_size=30), st.data())
def test_any_split_of_a_log_folds_to_the_same_state(
    log: list[tuple[AnyEvent, int | None]], data: st.DataObject
):
    cut = data.draw(st.integers(0, len(log)))

    assert fold(fold(State(), log[:cut]), log[cut:]) == fold(State(), log)


@given(st.lists(entries, max_size=30))
def test_the_last_position_counts_the_events(log: list[tuple[AnyEvent, int | None]]):
    assert fold(State(), log).last_seq == len(log)


def test_a_message_is_work_until_the_model_has_seen_it():
    asked = after(State(), said("user"))
    assert asked.has_work

    assert not after(asked, said("agent"), 1).has_work
    assert after(asked, said("agent"), 0).has_work


def test_a_call_is_work_until_answered_and_its_result_until_seen():
    called = after(after(State(), said("user")), action("c1"), 1)
    assert called.pending

    answered = after(called, observation("c1"))
    assert not answered.pending
    assert answered.has_work
    assert not after(answered, said("agent"), 3).has_work


def test_finishing_leaves_no_work():
    called = after(after(State(), said("user")), action("c1", "finish"), 1)

    finished = after(called, observation("c1", "finish"))

    assert not finished.has_work
    assert finished.final_response == "bye"


def test_a_pause_counts_until_the_next_run_begins():
    paused = after(after(State(), status_update(ExecutionStatus.RUNNING)), PauseEvent())
    assert paused.wants_pause

    assert not after(paused, status_update(ExecutionStatus.RUNNING)).wants_pause
