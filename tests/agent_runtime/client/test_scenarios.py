"""Tests of runs and requests. Each test runs in process and on a server and expects the same result."""

import asyncio
import threading
import uuid

import pytest

from agent_runtime import (
    ActionEvent,
    AlwaysConfirm,
    AnyEvent,
    ConversationError,
    ConversationRunError,
    ExecutionStatus,
    Message,
    NeverConfirm,
    NoCondenserError,
    NothingToCondenseError,
    NothingToConfirmError,
    ObservationEvent,
    StreamDelta,
    StreamEvent,
    StreamStarted,
    StuckError,
    ToolSpec,
)
from tests.agent_runtime.client.conftest import Place, kinds, last_message, messages
from tests.support.scripted_llm import call, calls, fail, hang, hold, say


def test_a_run_works_in_the_workspace_and_tells_every_event_once(place: Place):
    place.llm.script(
        call("terminal", command="echo mended > result.txt"), call("finish", message="It is mended.")
    )
    told: list[AnyEvent] = []
    conversation = place.conversation(callbacks=[told.append])

    conversation.send_message("Mend it.")
    conversation.run()

    assert place.workspace.execute_command("cat result.txt").stdout == "mended\n"
    assert conversation.final_response == "It is mended."
    assert conversation.state.execution_status is ExecutionStatus.FINISHED
    assert kinds(told) == [
        "SystemPromptEvent",
        "MessageEvent",
        "ActionEvent",
        "ObservationEvent",
        "ActionEvent",
        "ObservationEvent",
    ]
    assert told == list(conversation.state.events)
    assert len({event.id for event in told}) == len(told)
    observation = next(event for event in told if isinstance(event, ObservationEvent))
    assert observation.observation["exit_code"] == 0


def test_what_was_used_is_counted(place: Place):
    place.llm.script(say("Hello.", prompt_tokens=1000, completion_tokens=100, cached_tokens=400))
    conversation = place.conversation(
        place.agent(input_cost_per_token=0.001, output_cost_per_token=0.01, usage_id="mine")
    )

    conversation.send_message("Hello?")
    conversation.run()

    stats = conversation.state.stats
    usage = stats.usage_to_metrics["mine"].accumulated_token_usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cache_read_tokens) == (1000, 100, 400)
    assert conversation.state.cost == stats.get_combined_metrics().accumulated_cost > 0


def test_a_reply_is_heard_while_it_is_written(place: Place):
    place.llm.script(say("Once upon a time.", piece_chars=5))
    pieces: list[StreamEvent] = []
    conversation = place.conversation(stream_callbacks=[pieces.append])

    conversation.send_message(Message.of("user", "Tell me."))
    conversation.run()

    said = "".join(piece.content for piece in pieces if isinstance(piece, StreamDelta))
    assert said == "Once upon a time."
    assert pieces[0] == StreamStarted(item_id=last_message(conversation.state.events).id, attempt=1)


def test_a_message_sent_by_a_callback_is_answered_by_the_same_run(place: Place):
    place.llm.script(call("terminal", command="true"), lambda request: say(f"Heard: {request.last_text}"))

    def steer(event: AnyEvent) -> None:
        if isinstance(event, ActionEvent):
            conversation.send_message("And in French.")

    conversation = place.conversation(callbacks=[steer])
    conversation.send_message("Say it.")
    conversation.run()

    assert "And in French." in [m.llm_message.text for m in messages(conversation.state.events)]
    assert conversation.final_response == "Heard: And in French."


def test_a_pause_lets_the_command_end_and_a_further_run_goes_on(place: Place):
    place.llm.script(call("terminal", command="echo one >> log"), say("All done."))

    def pause(event: AnyEvent) -> None:
        if isinstance(event, ActionEvent):
            conversation.pause()

    conversation = place.conversation(callbacks=[pause])
    conversation.send_message("Go.")
    conversation.run()
    assert conversation.state.execution_status is ExecutionStatus.PAUSED

    conversation.run()

    assert conversation.final_response == "All done."
    assert place.workspace.execute_command("cat log").stdout == "one\n"


def test_an_interrupt_from_another_thread_ends_a_running_command(place: Place):
    place.llm.script(call("terminal", command="touch begun; sleep 600"), say("I was interrupted."))
    conversation = place.conversation()
    conversation.send_message("Wait.")

    conversation.run(blocking=False)
    wait_for = "for _ in $(seq 5000); do [ -e begun ] && exit 0; sleep 0.02; done; exit 1"
    assert place.workspace.execute_command(wait_for).exit_code == 0
    stopper = threading.Thread(target=conversation.interrupt)
    stopper.start()
    conversation.wait()
    stopper.join()

    assert conversation.state.execution_status is ExecutionStatus.PAUSED
    assert "InterruptEvent" in kinds(conversation.state.events)
    conversation.run()
    assert conversation.final_response == "I was interrupted."


def test_a_failed_run_raises_what_the_log_says_and_may_be_tried_again(place: Place):
    place.llm.script(fail(401, error="wrong key"), say("Now I can."))
    conversation = place.conversation()
    conversation.send_message("Go.")

    with pytest.raises(ConversationRunError, match="wrong key") as caught:
        conversation.run()
    assert caught.value.event == next(
        event for event in conversation.state.events if event.kind == "ConversationErrorEvent"
    )
    assert caught.value.code == "LLMAuthenticationError"
    assert conversation.state.execution_status is ExecutionStatus.ERROR

    conversation.run()

    assert conversation.final_response == "Now I can."


def test_an_agent_that_goes_in_circles_is_reported(place: Place):
    place.llm.script(*(call("terminal", command="echo again") for _ in range(6)))
    conversation = place.conversation(stuck_detection_thresholds={"action_observation": 2})
    conversation.send_message("Go.")

    with pytest.raises(StuckError):
        conversation.run()

    assert conversation.state.execution_status is ExecutionStatus.STUCK


def test_a_budget_stops_a_run_and_the_next_run_allows_as_much_again(place: Place):
    place.llm.script(call("terminal", command="true", call_id="a"), say("Done."))
    agent = place.agent(input_cost_per_token=0.01, output_cost_per_token=0.01, max_budget_per_task=0.5)
    conversation = place.conversation(agent)
    conversation.send_message("Go.")

    with pytest.raises(ConversationRunError) as caught:
        conversation.run()
    assert caught.value.code == "MaxBudgetReached"

    conversation.run()
    assert conversation.final_response == "Done."


def test_a_run_asks_the_model_only_so_often(place: Place):
    place.llm.script(call("terminal", command="echo 1"), call("terminal", command="echo 2"))
    conversation = place.conversation(max_iteration_per_run=1)
    conversation.send_message("Go.")

    with pytest.raises(ConversationRunError) as caught:
        conversation.run()

    assert caught.value.code == "MaxIterationsReached"


def test_what_waits_to_be_confirmed_is_rejected_or_approved(place: Place):
    place.llm.script(
        call("terminal", command="echo 1 >> log"), call("terminal", command="echo 2 >> log"), say("Done.")
    )
    conversation = place.conversation(confirmation_policy=AlwaysConfirm())
    with pytest.raises(NothingToConfirmError):
        conversation.reject_pending_actions()
    conversation.send_message("Go.")

    conversation.run()
    assert conversation.state.execution_status is ExecutionStatus.WAITING_FOR_CONFIRMATION
    conversation.reject_pending_actions("Not that one.")
    conversation.run()
    assert conversation.state.execution_status is ExecutionStatus.WAITING_FOR_CONFIRMATION
    conversation.set_confirmation_policy(NeverConfirm())
    conversation.run()

    assert conversation.final_response == "Done."
    assert place.workspace.execute_command("cat log").stdout == "2\n"
    assert "UserRejectObservation" in kinds(conversation.state.events)


def test_secrets_reach_only_commands(place: Place):
    place.llm.script(
        *(call("terminal", command='echo "$TOKEN" | tr a-z A-Z') for _ in range(2)), say("Used.")
    )
    first = place.conversation(secrets={"TOKEN": "canary-one"})
    first.close()

    conversation = place.conversation(conversation_id=first.id, secrets={"TOKEN": "canary-two"})
    conversation.send_message("Use it.")
    conversation.run()
    conversation.update_secrets({"TOKEN": "canary-three"})
    place.llm.script(call("terminal", command='echo "$TOKEN" | tr a-z A-Z'), say("Again."))
    conversation.send_message("Use the new one.")
    conversation.run()

    log = str(list(conversation.state.events))
    assert "CANARY-TWO" in log
    assert "CANARY-THREE" in log
    assert "canary-" not in log


def test_older_events_are_summed_up_on_request(place: Place):
    place.llm.script(*(call("terminal", command=f"echo {n}") for n in range(8)), say("Eight."))
    conversation = place.conversation(place.agent(condenser=True))
    with pytest.raises(NothingToCondenseError):
        conversation.condense()
    conversation.send_message("Count.")
    conversation.run()

    place.llm.script(say("It counted."), lambda request: say(str(request.body["messages"])))
    conversation.condense()
    conversation.send_message("And?")
    conversation.run()

    assert "Condensation" in kinds(conversation.state.events)
    assert "It counted." in conversation.final_response


def test_without_a_condenser_nothing_is_summed_up(place: Place):
    with pytest.raises(NoCondenserError):
        place.conversation().condense()


def test_a_question_leaves_no_trace(place: Place):
    place.llm.script(say("Blue."), say("Because of the sky."))
    conversation = place.conversation()
    conversation.send_message("A colour?")
    conversation.run()
    before = list(conversation.state.events)

    assert conversation.ask_agent("Why?") == "Because of the sky."

    assert list(conversation.state.events) == before
    place.llm.script(fail(400, error="no more"))
    with pytest.raises(ConversationError) as caught:
        conversation.ask_agent("Why?")
    assert caught.value.code == "llm_failed"


def test_a_title_is_thought_of_and_set(place: Place):
    conversation = place.conversation()
    with pytest.raises(ConversationError, match="no message"):
        conversation.generate_title()
    conversation.send_message("Please mend the parser of dates.")
    place.llm.script(say('"Mend the date parser"'))

    title = conversation.generate_title(max_length=8)
    conversation.update(title=title, tags={"a": "b"})

    assert conversation.state.title == title == "Mend the"
    assert conversation.state.tags == {"a": "b"}


def test_a_callback_that_raises_stops_the_run_and_is_raised(place: Place):
    place.llm.script(call("terminal", command="sleep 600"))

    def fail_at_action(event: AnyEvent) -> None:
        if event.kind == "ActionEvent":
            raise LookupError("my own mistake")

    told: list[AnyEvent] = []
    conversation = place.conversation(callbacks=[fail_at_action, told.append])
    conversation.send_message("Go.")

    with pytest.raises(LookupError, match="my own mistake"):
        conversation.run()

    assert conversation.state.execution_status is ExecutionStatus.PAUSED
    assert told == list(conversation.state.events)


def test_a_callback_cannot_wait_for_itself(place: Place):
    place.llm.script(say("Hello."))
    conversation = place.conversation(callbacks=[lambda _event: conversation.run()])

    conversation.send_message("Hello?")

    with pytest.raises(ConversationError) as caught:
        conversation.run()
    assert caught.value.code == "called_from_callback"


async def test_it_runs_beside_an_event_loop_and_cancelling_interrupts(place: Place):
    place.llm.script(say("Hello."), hang())
    conversation = place.conversation()
    conversation.send_message("Hello?")
    await conversation.arun()
    assert conversation.final_response == "Hello."

    conversation.send_message("Think.")
    running = asyncio.create_task(conversation.arun())
    await place.llm.wait_for_requests(2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert conversation.state.execution_status is ExecutionStatus.PAUSED


def test_a_run_that_is_going_on_is_joined(place: Place):
    reply = hold(say("Done."))
    place.llm.script(reply)
    conversation = place.conversation()
    conversation.send_message("Go.")
    conversation.run(blocking=False)
    conversation.run(blocking=False)

    reply.release()
    conversation.run()

    assert conversation.final_response == "Done."
    assert len(place.llm.requests) == 1


def test_calls_that_run_side_by_side_are_told_as_they_are_logged(place: Place):
    place.llm.script(calls(("terminal", {"command": "echo 1"}), ("think", {"thought": "hm"})), say("Both."))
    told: list[AnyEvent] = []
    agent = place.agent().model_copy(update={"tool_concurrency_limit": 2})
    conversation = place.conversation(agent, callbacks=[told.append])

    conversation.send_message("Go.")
    conversation.run()

    assert told == list(conversation.state.events)


def test_a_tool_that_does_not_exist_is_refused(place: Place):
    agent = place.agent().model_copy(update={"tools": [ToolSpec(name="no_such_tool")]})

    with pytest.raises(ConversationError) as caught:
        place.conversation(agent, conversation_id=uuid.uuid4())

    assert caught.value.code == "tool_not_found"
