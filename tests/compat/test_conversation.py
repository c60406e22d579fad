"""Tests of the SDK's RemoteConversation from its creation to its end."""

import json
import uuid
from pathlib import Path

import httpx
import pytest
from openhands.sdk import Conversation, ImageContent, Message, RemoteConversation, TextContent
from openhands.sdk.conversation.exceptions import ConversationRunError
from openhands.sdk.conversation.state import ConversationExecutionStatus as Status
from openhands.sdk.event import (
    ActionEvent,
    ConversationStateUpdateEvent,
    MessageEvent,
    ObservationEvent,
)
from openhands.sdk.event.conversation_error import ConversationErrorEvent
from openhands.sdk.security.confirmation_policy import NeverConfirm
from openhands.sdk.workspace import RemoteWorkspace

from tests.compat.conftest import Begin, kinds, make_agent, make_llm, only
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, call, calls, fail, hold, say


def stored_ids(conversation: RemoteConversation) -> list[str]:
    """Returns the ids of the events without state updates, because some state updates are published but not
    stored.
    """
    events = conversation.state.events
    return [event.id for event in events if not isinstance(event, ConversationStateUpdateEvent)]


def test_a_task_is_done_and_every_event_arrives_by_callback_and_in_the_state(
    begin: Begin, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("terminal", command="echo $((6*7))"), call("finish", message="It is 42."))
    heard = []
    conversation = begin("terminal", callbacks=[heard.append])

    conversation.send_message("Compute it.")
    conversation.run(timeout=PATIENCE_SECONDS)

    assert conversation.state.execution_status is Status.FINISHED
    expected = ["SystemPromptEvent", "MessageEvent", *["ActionEvent", "ObservationEvent"] * 2]
    assert kinds(conversation.state.events) == expected
    assert kinds(heard) == expected
    (ran, _) = only(heard, ObservationEvent)
    assert ran.observation.text == "42"
    assert ran.observation.exit_code == 0


def test_the_full_state_is_the_first_and_the_last_word_of_a_run(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Done."))
    heard = []
    conversation = begin(callbacks=[heard.append])
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    updates = only(heard, ConversationStateUpdateEvent)
    assert updates[0].key == "full_state"
    assert updates[0].value["execution_status"] == "idle"
    assert heard[-1].key == "full_state"
    assert heard[-1].value["execution_status"] == "finished"


def test_text_and_images_of_a_message_reach_the_model(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("A pixel."))
    seeing = make_llm(scripted_llm, model="openai/gpt-4o")
    conversation = begin(agent=make_agent(scripted_llm).model_copy(update={"llm": seeing}))
    image = "data:image/png;base64,iVBORw0KGgo="
    content = [TextContent(text="What is it?"), ImageContent(image_urls=[image])]

    conversation.send_message(Message(role="user", content=content))
    conversation.run(timeout=PATIENCE_SECONDS)

    asked_of_model = json.dumps(scripted_llm.requests[0].messages)
    assert "What is it?" in asked_of_model
    assert image in asked_of_model
    (asked, answered) = only(conversation.state.events, MessageEvent)
    assert asked.to_llm_message().content == content
    assert answered.source == "agent"


def test_several_turns_go_on_in_one_conversation(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("One."), say("Two."))
    conversation = begin()
    for text in ("first", "second"):
        conversation.send_message(text)
        conversation.run(timeout=PATIENCE_SECONDS)

    assert [event.source for event in only(conversation.state.events, MessageEvent)] == ["user", "agent"] * 2
    assert len(scripted_llm.requests[1].messages) == 4


def test_everything_of_the_state_can_be_read(
    begin: Begin, scripted_llm: ScriptedLLM, workspace: RemoteWorkspace
):
    scripted_llm.script(say("Done.", prompt_tokens=120, completion_tokens=7))
    conversation = begin("terminal", max_iteration_per_run=9, tags={"team": "red"})
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)
    state = conversation.state

    assert state.id == conversation.id
    assert state.agent.llm.model == "openai/scripted"
    assert [tool.name for tool in state.agent.tools] == ["terminal"]
    assert state.workspace["working_dir"] == workspace.working_dir
    assert Path(state.persistence_dir).is_dir()
    assert state.confirmation_policy == NeverConfirm()
    assert state.security_analyzer is None
    assert state.hook_config is None
    assert state.activated_knowledge_skills == []
    assert state.invoked_skills == []
    assert state.secret_registry.secret_sources == {}
    usage = state.stats.usage_to_metrics["agent"].accumulated_token_usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (120, 7)
    info = state.refresh_from_server()
    assert (info["max_iterations"], info["tags"]) == (9, {"team": "red"})


def test_the_models_key_is_nowhere_in_what_is_read(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Done."))
    heard = []
    conversation = begin("terminal", callbacks=[heard.append])
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    assert scripted_llm.api_key not in str(conversation.state.refresh_from_server())
    assert not any(scripted_llm.api_key in event.model_dump_json() for event in heard)


def test_costs_are_those_of_the_models_prices(begin: Begin, scripted_llm: ScriptedLLM):
    llm = make_llm(scripted_llm, input_cost_per_token=0.001, output_cost_per_token=0.01)
    scripted_llm.script(say("Done.", prompt_tokens=100, completion_tokens=10))
    conversation = begin(agent=make_agent(scripted_llm).model_copy(update={"llm": llm}))
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    metrics = conversation.conversation_stats.get_metrics_for_usage("agent")
    assert metrics.accumulated_cost == pytest.approx(0.2)


def test_a_run_that_is_not_waited_for_goes_on_by_itself(begin: Begin, scripted_llm: ScriptedLLM):
    reply = hold(say("Done."))
    scripted_llm.script(reply)
    conversation = begin()
    conversation.send_message("Go.")

    conversation.run(blocking=False)
    conversation.run(blocking=False)  # the server answers 409, as the run goes on; no error
    scripted_llm.wait_for_request(1)
    assert conversation.state.refresh_from_server()["execution_status"] == "running"
    reply.release()
    conversation.run(timeout=PATIENCE_SECONDS)

    assert conversation.state.execution_status is Status.FINISHED


def test_a_failure_of_the_model_is_raised_with_its_reason(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(fail(401, error="no such key"))
    conversation = begin()
    conversation.send_message("Go.")

    with pytest.raises(ConversationRunError) as failure:
        conversation.run(timeout=PATIENCE_SECONDS)

    (error,) = only(conversation.state.events, ConversationErrorEvent)
    assert failure.value.conversation_error == error
    assert error.classification is not None
    assert not error.classification.retryable
    assert conversation.state.execution_status is Status.ERROR


def test_a_failed_run_can_be_tried_again(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(fail(401), say("Now it works."))
    conversation = begin()
    conversation.send_message("Go.")
    with pytest.raises(ConversationRunError):
        conversation.run(timeout=PATIENCE_SECONDS)

    conversation.run(timeout=PATIENCE_SECONDS)

    assert conversation.state.execution_status is Status.FINISHED


def test_too_many_steps_are_an_error(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.fallback = lambda request: calls(("think", {"thought": str(len(request.messages))}))
    conversation = begin(max_iteration_per_run=2)
    conversation.send_message("Go.")

    with pytest.raises(ConversationRunError, match="MaxIterationsReached"):
        conversation.run(timeout=PATIENCE_SECONDS)


def test_an_agent_that_goes_round_in_circles_is_stuck(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.fallback = calls(("think", {"thought": "again"}))
    conversation = begin(stuck_detection_thresholds={"action_observation": 3})
    conversation.send_message("Go.")

    with pytest.raises(ConversationRunError, match="stuck"):
        conversation.run(timeout=PATIENCE_SECONDS)

    assert conversation.state.execution_status is Status.STUCK


def test_a_message_gets_a_stuck_agent_going_again(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.fallback = calls(("think", {"thought": "again"}))
    conversation = begin(stuck_detection_thresholds={"action_observation": 3})
    conversation.send_message("Go.")
    with pytest.raises(ConversationRunError, match="stuck"):
        conversation.run(timeout=PATIENCE_SECONDS)

    scripted_llm.script(say("Another way."))
    conversation.send_message("Try another way.")
    conversation.run(timeout=PATIENCE_SECONDS)

    assert conversation.state.execution_status is Status.FINISHED
    assert "Another way." in str(only(conversation.state.events, MessageEvent)[-1])


def test_a_tool_that_does_not_exist_is_told_to_the_model(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(call("teleport", to="Mars"), say("I walk."))
    conversation = begin("terminal")
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    assert kinds(conversation.state.events)[2:4] == ["ActionEvent", "AgentErrorEvent"]
    assert only(conversation.state.events, ActionEvent)[0].action is None


def test_a_conversation_is_taken_up_again_by_its_id(
    begin: Begin, scripted_llm: ScriptedLLM, workspace: RemoteWorkspace
):
    scripted_llm.script(call("terminal", command="true"), say("One."), say("Two."))
    first = begin("terminal")
    first.send_message("Go.")
    first.run(timeout=PATIENCE_SECONDS)

    heard = []
    again = begin("terminal", conversation_id=first.id, callbacks=[heard.append])
    attached = RemoteConversation.attach(workspace, first.id, visualizer=None)

    for other in (again, attached):
        assert stored_ids(other) == stored_ids(first)
    assert kinds(heard) == []
    again.send_message("More.")
    again.run(timeout=PATIENCE_SECONDS)
    assert kinds(heard) == ["MessageEvent", "MessageEvent"]
    workspace.client.delete(f"/api/conversations/{first.id}")
    attached.close()


def test_a_conversation_is_made_with_the_id_that_is_asked_for(begin: Begin):
    wanted = uuid.uuid4()

    assert begin(conversation_id=wanted).id == wanted


def test_events_over_many_pages_are_all_read(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.fallback = lambda request: (
        calls(("think", {"thought": str(len(request.messages))}))
        if len(request.messages) < 130
        else say("Done.")
    )
    first = begin()
    first.send_message("Think long.")
    first.run(timeout=PATIENCE_SECONDS)

    again = begin(conversation_id=first.id)

    assert len(again.state.events) >= 190
    assert stored_ids(again) == stored_ids(first)
    stamps = [event.timestamp for event in again.state.events]
    assert stamps == sorted(stamps)


def test_an_unknown_tool_is_refused_at_the_start(begin: Begin):
    with pytest.raises(httpx.HTTPStatusError) as refusal:
        begin("no_such_tool")

    assert refusal.value.response.status_code == 422
    assert "no_such_tool" in refusal.value.response.json()["detail"]


def test_closing_deletes_if_that_was_asked_for(scripted_llm: ScriptedLLM, workspace: RemoteWorkspace):
    conversation = Conversation(
        agent=make_agent(scripted_llm), workspace=workspace, visualizer=None, delete_on_close=True
    )
    url = f"/api/conversations/{conversation.id}"
    assert workspace.client.get(url).status_code == 200

    conversation.close()

    assert workspace.client.get(url).status_code == 404


def test_closing_leaves_the_conversation_where_it_is(begin: Begin, workspace: RemoteWorkspace):
    conversation = begin(delete_on_close=False)

    conversation.close()

    assert workspace.client.get(f"/api/conversations/{conversation.id}").status_code == 200


def test_the_title_is_thought_of_by_the_server_and_can_be_set(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Done."))
    conversation = begin()
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    conversation.set_title("Mine")
    assert conversation.state.refresh_from_server()["title"] == "Mine"
    assert conversation.generate_title() == "A fine title"
