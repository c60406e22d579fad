"""Tests of the SDK client: pausing, interrupting, sending messages and streaming during a run."""

import threading

from openhands.sdk import Agent
from openhands.sdk.conversation.state import ConversationExecutionStatus as Status
from openhands.sdk.event import AgentErrorEvent, InterruptEvent, MessageEvent, ObservationEvent, PauseEvent
from openhands.sdk.event.streaming_delta import StreamingDeltaEvent

from tests.compat.conftest import Begin, Heard, kinds, make_agent, make_llm, only
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, call, calls, hang, hold, say


def test_a_run_is_paused_between_its_steps_and_goes_on(begin: Begin, scripted_llm: ScriptedLLM):
    thinking = hold(call("terminal", command="true"))
    scripted_llm.script(thinking, say("Done."))
    heard = Heard()
    conversation = begin("terminal", callbacks=[heard])
    conversation.send_message("Go.")
    conversation.run(blocking=False)
    scripted_llm.wait_for_request(1)

    conversation.pause()
    thinking.release()
    heard.wait_for_status("paused")
    assert len(only(heard.events, PauseEvent)) == 1
    assert "ObservationEvent" not in kinds(heard.events)

    conversation.run(timeout=PATIENCE_SECONDS)
    assert conversation.state.execution_status is Status.FINISHED
    assert "ObservationEvent" in kinds(heard.events)


def test_a_pause_before_a_run_is_a_state_of_its_own(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Done."))
    heard = Heard()
    conversation = begin(callbacks=[heard])
    conversation.send_message("Go.")
    conversation.pause()
    heard.wait_for_status("paused")

    conversation.run(timeout=PATIENCE_SECONDS)

    assert conversation.state.execution_status is Status.FINISHED


def test_interrupting_drops_the_models_reply(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(hang(), say("Done."))
    heard = Heard()
    conversation = begin(callbacks=[heard])
    conversation.send_message("Go.")
    waiting = threading.Thread(target=conversation.run, kwargs={"timeout": PATIENCE_SECONDS})
    waiting.start()
    scripted_llm.wait_for_request(1)

    conversation.interrupt()

    waiting.join(timeout=PATIENCE_SECONDS)
    assert not waiting.is_alive()
    assert conversation.state.execution_status is Status.PAUSED
    assert len(only(conversation.state.events, InterruptEvent)) == 1


def test_interrupting_ends_a_running_command_and_answers_its_call(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(call("terminal", command="sleep 60"), say("I stopped."))
    heard = Heard()
    conversation = begin("terminal", callbacks=[heard])
    conversation.send_message("Go.")
    conversation.run(blocking=False)
    heard.wait_for(lambda event: event.kind == "ActionEvent")

    conversation.interrupt()

    heard.wait_for_status("paused")
    (answer,) = only(conversation.state.events, (AgentErrorEvent, ObservationEvent))
    assert answer.tool_name == "terminal"
    conversation.send_message("Stop it.")
    conversation.run(timeout=PATIENCE_SECONDS)
    assert conversation.state.execution_status is Status.FINISHED


def test_a_message_sent_while_it_runs_is_answered_too(begin: Begin, scripted_llm: ScriptedLLM):
    first = hold(say("One."))
    scripted_llm.script(first, say("Two."))
    conversation = begin()
    conversation.send_message("first")
    conversation.run(blocking=False)
    scripted_llm.wait_for_request(1)
    conversation.send_message("second")
    first.release()

    conversation.run(timeout=PATIENCE_SECONDS)

    texts = [event.llm_message.content[0].text for event in only(conversation.state.events, MessageEvent)]
    assert sorted(texts) == ["One.", "Two.", "first", "second"]
    assert "second" in str(scripted_llm.requests[1].messages)


def test_a_reply_streams_piece_by_piece(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("It is a long and winding answer.", reasoning="Let me think about it."))
    agent = Agent(llm=make_llm(scripted_llm, stream=True), tools=[])
    heard, tokens = Heard(), []
    conversation = begin(agent=agent, callbacks=[heard], token_callbacks=[tokens.append])
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    deltas = only(heard.events, StreamingDeltaEvent)
    assert "".join(delta.content or "" for delta in deltas) == "It is a long and winding answer."
    assert "".join(delta.reasoning_content or "" for delta in deltas) == "Let me think about it."
    assert len(deltas) > 4
    assert tokens
    again = begin(conversation_id=conversation.id)
    assert "StreamingDeltaEvent" not in kinds(again.state.events)


def test_without_streaming_there_are_no_pieces(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Done."))
    heard = Heard()
    conversation = begin(agent=make_agent(scripted_llm), callbacks=[heard])
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    assert only(heard.events, StreamingDeltaEvent) == []


def test_calls_of_one_reply_share_it_and_are_answered_each(begin: Begin, scripted_llm: ScriptedLLM):
    pair = calls(("terminal", {"command": "echo a"}), ("terminal", {"command": "echo b"}), thought="Both.")
    scripted_llm.script(pair, say("Done."))
    conversation = begin("terminal")
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    actions = [event for event in conversation.state.events if event.kind == "ActionEvent"]
    results = only(conversation.state.events, ObservationEvent)
    assert len({event.llm_response_id for event in actions}) == 1
    assert [bool(event.thought) for event in actions] == [True, False]
    assert [result.observation.text for result in results] == ["a", "b"]
    assert [result.action_id for result in results] == [event.id for event in actions]
