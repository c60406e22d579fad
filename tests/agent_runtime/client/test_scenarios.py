"""One list of scenarios, played wherever a conversation may run."""

import asyncio
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

from agent_runtime import (
    ActionEvent,
    AlreadyRunningError,
    AlwaysConfirm,
    AnyEvent,
    CheckpointNotFoundError,
    ConversationError,
    ConversationRunError,
    EditedSinceError,
    EventNotFoundError,
    ExecutionStatus,
    Message,
    MessageEvent,
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
    WorkspaceError,
)
from tests.agent_runtime.client.conftest import Place, kinds
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
    assert pieces[0] == StreamStarted(item_id=_last_message(conversation.state.events).id, attempt=1)


def test_a_message_sent_by_a_callback_is_answered_by_the_same_run(place: Place):
    place.llm.script(call("terminal", command="true"), lambda request: say(f"Heard: {request.last_text}"))

    def steer(event: AnyEvent) -> None:
        if isinstance(event, ActionEvent):
            conversation.send_message("And in French.")

    conversation = place.conversation(callbacks=[steer])
    conversation.send_message("Say it.")
    conversation.run()

    assert "And in French." in [m.llm_message.text for m in _messages(conversation.state.events)]
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


def test_a_closed_conversation_is_reopened_by_its_id(place: Place):
    place.llm.script(say("Nice to meet you."), lambda request: say(f"{len(request.messages)} messages"))
    first = place.conversation(title="Acquaintance", tags={"team": "blue"})
    first.send_message("I am Ada.")
    first.run()
    first.close()

    told: list[AnyEvent] = []
    again = place.conversation(conversation_id=first.id, callbacks=[told.append])
    assert list(again.state.events) == list(first.state.events)
    again.send_message("Who am I?")
    again.run()

    assert again.final_response == "4 messages"
    assert again.state.title == "Acquaintance"
    assert again.state.tags == {"team": "blue"}
    assert told == list(again.state.events)[len(first.state.events) :]


def test_a_conversation_is_not_reopened_with_another_agent(place: Place):
    first = place.conversation()
    first.close()
    other = place.agent().model_copy(update={"tools": [ToolSpec(name="grep")]})

    with pytest.raises(ConversationError, match="tools differ") as caught:
        place.conversation(other, conversation_id=first.id)

    assert caught.value.code == "agent_differs"
    assert place.conversation(conversation_id=first.id).id == first.id


def test_a_conversation_comes_back_with_another_model(place: Place):
    place.llm.script(say("I am the first."), lambda request: say(f"I am {request.body['model']}."))
    first = place.conversation(place.agent(condenser=True))
    first.send_message("Who are you?")
    first.run()
    first.close()
    other = place.agent(condenser=True, model="openai/another")

    again = place.conversation(other, conversation_id=first.id)
    again.send_message("And now?")
    again.run()

    assert again.final_response == "I am another."
    assert again.state.info.agent["llm"]["model"] == "openai/another"
    again.close()
    assert place.conversation(other, conversation_id=first.id).id == first.id


def test_another_model_takes_over(place: Place):
    place.llm.script(lambda request: say(f"I am {request.body['model']}."))
    conversation = place.conversation()
    conversation.send_message("Who are you?")

    conversation.switch_llm(place.agent(model="openai/another").llm)
    conversation.run()

    assert conversation.final_response == "I am another."
    assert conversation.agent.llm.model == "openai/another"


def test_a_fork_goes_on_with_the_model_that_took_over(place: Place):
    place.llm.script(lambda request: say(f"I am {request.body['model']}."))
    conversation = place.conversation()
    conversation.switch_llm(place.agent(model="openai/another").llm)

    with conversation.fork() as copy:
        copy.send_message("Who are you?")
        copy.run()

        assert copy.final_response == "I am another."


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


def test_secrets_reach_commands_and_nobody_else(place: Place):
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


def test_a_closed_conversation_says_so(place: Place):
    conversation = place.conversation()
    conversation.close()

    for use in (conversation.run, conversation.wait, conversation.pause, lambda: conversation.state.cost):
        with pytest.raises(ConversationError) as caught:
            use()
        assert caught.value.code == "conversation_closed"


def test_a_fork_goes_its_own_way(place: Place):
    place.llm.script(say("Yes."), say("No."), say("Perhaps."))
    conversation = place.conversation()
    conversation.send_message("Is it?")
    conversation.run()

    with conversation.fork(title="The other way") as copy:
        copy.send_message("Really?")
        copy.run()
        assert copy.final_response == "No."
        assert copy.state.title == "The other way"
        assert copy.id != conversation.id
    conversation.send_message("Sure?")
    conversation.run()

    said = [m.llm_message.text for m in _messages(conversation.state.events)]
    assert said == ["Is it?", "Yes.", "Sure?", "Perhaps."]
    with pytest.raises(EventNotFoundError):
        conversation.fork(from_event_id="nowhere")


def test_one_can_go_back_and_take_another_turn(place: Place):
    place.llm.script(say("Red."), lambda request: say(f"{len(request.messages)} messages"))
    conversation = place.conversation()
    conversation.send_message("A colour?")
    conversation.run()
    answer = _last_message(conversation.state.events)
    conversation.send_message("A wrong question.")

    conversation.navigate(answer.id)
    assert conversation.state.leaf_event_id == answer.id
    conversation.send_message("Another one?")
    conversation.run()

    assert conversation.final_response == "4 messages"
    with pytest.raises(EventNotFoundError):
        conversation.navigate("nowhere")


def test_files_and_chat_go_back_to_a_checkpoint(place: Place):
    place.llm.script(
        call("terminal", command="echo agent > made"),
        say("Made."),
        lambda request: say(f"{len(request.messages)} messages"),
    )
    conversation = place.conversation()
    conversation.send_message("Make it.")
    conversation.run()
    first = conversation.checkpoints()[0]
    assert [one.path for one in conversation.diff_checkpoint(first.id).files] == ["made"]
    place.workspace.execute_command("echo mine > made")

    with pytest.raises(EditedSinceError) as caught:
        conversation.rewind(first.id)
    assert caught.value.diff is not None
    assert caught.value.diff.edited == ["made"]
    assert conversation.rewind(first.id, on_edits="keep").kept == ["made"]

    conversation.send_message("Afresh.")
    conversation.run()
    assert conversation.final_response == "2 messages"
    assert place.workspace.execute_command("cat made").stdout == "mine\n"
    with pytest.raises(CheckpointNotFoundError):
        conversation.rewind(99)


def test_it_refuses_to_go_back_while_it_runs(place: Place):
    place.llm.script(hang())
    conversation = place.conversation()
    conversation.send_message("Go.")
    conversation.run(blocking=False)

    with pytest.raises(AlreadyRunningError) as caught:
        conversation.navigate(None)

    assert caught.value.fix
    conversation.interrupt()
    conversation.wait()


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


def test_commands_and_files(place: Place, tmp_path: Path):
    workspace = place.workspace
    source = tmp_path / "source.bin"
    source.write_bytes(bytes(range(256)))

    up = workspace.file_upload(source, "deep/down/there.bin")
    assert (up.success, up.file_size) == (True, 256)
    assert workspace.execute_command("wc -c < there.bin", cwd="deep/down").stdout.strip() == "256"
    down = workspace.file_download("deep/down/there.bin", tmp_path / "new" / "back.bin")
    assert (tmp_path / "new" / "back.bin").read_bytes() == source.read_bytes()
    assert down.file_size == 256

    failed = workspace.execute_command("echo out; echo err >&2; exit 3")
    assert (failed.exit_code, failed.stdout, failed.stderr) == (3, "out\n", "err\n")
    late = workspace.execute_command("echo early; sleep 600", timeout=3)
    assert (late.timeout_occurred, late.stdout) == (True, "early\n")
    assert workspace.execute_command("sleep 60 & echo started").stdout == "started\n"
    assert workspace.alive


@pytest.mark.parametrize(
    ("use", "code"),
    [
        (lambda w, path: w.file_download("missing", path / "x"), "not_found"),
        (lambda w, path: w.file_upload(path / "missing", "x"), "not_found"),
        (lambda w, _: w.execute_command("true", cwd="missing"), "directory_not_found"),
        (lambda w, _: w.git_changes(), "not_a_repository"),
    ],
)
def test_what_a_workspace_refuses_has_the_same_name_everywhere(
    place: Place, tmp_path: Path, use: Any, code: str
):
    with pytest.raises(WorkspaceError) as caught:
        use(place.workspace, tmp_path)

    assert caught.value.code == code


def test_git(place: Place):
    workspace = place.workspace
    setup = (
        "git init -q && git config user.email a@b && git config user.name A && echo 1 > old && git add . "
        "&& git commit -qm one && echo 2 > old && echo new > fresh"
    )
    assert workspace.execute_command(setup).exit_code == 0

    assert [(c.status, c.path) for c in workspace.git_changes()] == [("ADDED", "fresh"), ("UPDATED", "old")]
    assert (workspace.git_diff("old").original, workspace.git_diff("old").modified) == ("1\n", "2\n")
    assert workspace.git_diff("fresh").original is None
    with pytest.raises(WorkspaceError) as caught:
        workspace.git_changes(ref="nowhere")
    assert caught.value.code == "unknown_ref"


def test_a_tool_that_does_not_exist_is_refused(place: Place):
    agent = place.agent().model_copy(update={"tools": [ToolSpec(name="no_such_tool")]})

    with pytest.raises(ConversationError) as caught:
        place.conversation(agent, conversation_id=uuid.uuid4())

    assert caught.value.code == "tool_not_found"


def _messages(events: Any) -> list[MessageEvent]:
    return [event for event in events if isinstance(event, MessageEvent)]


def _last_message(events: Any) -> MessageEvent:
    return _messages(events)[-1]
