"""Tests of the run loop through its interface: user messages go in, events come out."""

import json
from itertools import pairwise

import pytest

from agent_runtime.conversation.errors import AlreadyRunningError
from tests.agent_runtime.conversation.conftest import (
    Conversations,
    Watch,
    events_of,
    kinds_of,
    of_kind,
    statuses_of,
    user,
)
from tests.support.scripted_llm import ScriptedLLM, call, calls, cut, fail, hold, say, text_of


async def test_a_task_goes_through_a_tool_to_its_finish(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(
        call("terminal", command="echo he''llo", thought="Let me look."), call("finish", message="All done.")
    )
    conversation = conversations.create()
    conversation.send(user("Say hello."))

    await conversation.run()

    assert kinds_of(conversation) == [
        "SystemPromptEvent",
        "MessageEvent",
        "ActionEvent",
        "ObservationEvent",
        "ActionEvent",
        "ObservationEvent",
    ]
    assert "hello" in of_kind(conversation, "ObservationEvent")[0]["observation"]["content"][0]["text"]
    assert statuses_of(conversation) == ["running", "finished"]
    assert conversation.state.final_response == "All done."
    assert "hello" in scripted_llm.requests[1].last_text


async def test_a_plain_reply_ends_the_run(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("It is four."))
    conversation = conversations.create()
    conversation.send(user("Two and two?"))

    await conversation.run()

    assert conversation.state.final_response == "It is four."
    assert conversation.status == "finished"


async def test_every_event_follows_its_parent_and_time_never_goes_back(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(calls(("think", {"thought": "hm"})), say("done"))
    conversation = conversations.create()
    conversation.send(user("Think."))
    await conversation.run()

    events = events_of(conversation)

    chain = [event for event in events if event["kind"] != "ConversationStateUpdateEvent"]
    assert all(after["parent_id"] == before["id"] for before, after in pairwise(chain))
    assert all(after["timestamp"] >= before["timestamp"] for before, after in pairwise(events))


async def test_calls_of_one_reply_share_its_id_and_only_the_first_has_the_thought(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    pair = (("terminal", {"command": "echo 1"}), ("terminal", {"command": "echo 2", "summary": "count"}))
    scripted_llm.script(calls(*pair, thought="Two at once.", reasoning="Why not."), say("done"))
    conversation = conversations.create()
    conversation.send(user("Count."))
    await conversation.run()

    first, second = of_kind(conversation, "ActionEvent")

    assert first["llm_response_id"] == second["llm_response_id"]
    assert first["thought"][0]["text"] == "Two at once."
    assert first["reasoning_content"] == "Why not."
    assert second["thought"] == []
    assert second["summary"] == "count"
    roles = [message["role"] for message in scripted_llm.requests[1].messages]
    assert roles == ["system", "user", "assistant", "tool", "tool"]


async def test_a_message_sent_while_a_tool_runs_is_seen_by_the_next_call(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("terminal", command="until [ -e gate ]; do sleep 0.05; done"), say("done"))
    conversation = conversations.create()
    watch = Watch(conversation)
    conversation.send(user("Wait at the gate."))
    conversation.start()
    await watch.until_event("ActionEvent")

    conversation.send(user("Hurry up."))
    (conversations.workspace / "gate").touch()
    await conversation.wait()

    roles = [(m["role"], text_of(m)) for m in scripted_llm.requests[1].messages]
    assert roles[-1] == ("user", "Hurry up.")
    assert roles[-2][0] == "tool"


async def test_a_message_that_lands_during_the_last_reply_is_answered(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    last = hold(say("I am done."))
    scripted_llm.script(last, say("This, too."))
    conversation = conversations.create()
    conversation.send(user("Do it."))
    conversation.start()
    await scripted_llm.wait_for_requests(1)

    conversation.send(user("And that."))
    last.release()
    await conversation.wait()

    assert conversation.state.final_response == "This, too."
    assert [text_of(m) for m in scripted_llm.requests[1].messages[1:]] == [
        "Do it.",
        "I am done.",
        "And that.",
    ]
    assert statuses_of(conversation) == ["running", "finished"]


async def test_a_message_that_lands_during_the_finish_call_is_answered(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    last = hold(call("finish", message="done"))
    scripted_llm.script(last, say("And that is done."))
    conversation = conversations.create()
    conversation.send(user("Do it."))
    conversation.start()
    await scripted_llm.wait_for_requests(1)

    conversation.send(user("And that."))
    last.release()
    await conversation.wait()

    assert conversation.state.final_response == "And that is done."


async def test_a_repeated_message_id_changes_nothing(conversations: Conversations):
    conversation = conversations.create()

    assert conversation.send(user("once"), message_id="m1")
    assert not conversation.send(user("once"), message_id="m1")

    assert len(of_kind(conversation, "MessageEvent")) == 1


async def test_a_second_run_is_refused_while_one_is_going_on(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    reply = hold(say("done"))
    scripted_llm.script(reply)
    conversation = conversations.create()
    conversation.send(user("Go."))
    conversation.start()

    with pytest.raises(AlreadyRunningError):
        conversation.start()

    reply.release()
    await conversation.wait()


async def test_a_run_without_work_does_nothing(conversations: Conversations, scripted_llm: ScriptedLLM):
    conversation = conversations.create()

    await conversation.run()

    assert events_of(conversation) == []
    assert scripted_llm.requests == []


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("teleport", {"a": 1}, "Tool 'teleport' not found"),
        ("terminal", '{"command": ', "not a JSON object"),
        ("terminal", {"comand": "hunter2"}, "`command`"),
    ],
)
async def test_a_call_that_cannot_be_run_is_answered_with_an_error_the_model_can_act_on(
    conversations: Conversations, scripted_llm: ScriptedLLM, name: str, arguments: object, expected: str
):
    scripted_llm.script(calls((name, arguments)), say("I see."))
    conversation = conversations.create()
    conversation.send(user("Go."))

    await conversation.run()

    (error,) = of_kind(conversation, "AgentErrorEvent")
    assert expected in error["error"]
    assert "hunter2" not in error["error"]
    assert "action" not in of_kind(conversation, "ActionEvent")[0]
    sent = scripted_llm.requests[1].messages
    assert sent[-1]["role"] == "tool"
    json.loads(sent[-2]["tool_calls"][0]["function"]["arguments"])
    assert conversation.status == "finished"


async def test_familiar_names_of_tools_are_understood(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("bash", command="echo ok"), say("done"))
    conversation = conversations.create()
    conversation.send(user("Go."))

    await conversation.run()

    assert of_kind(conversation, "ObservationEvent")[0]["tool_name"] == "terminal"


async def test_an_empty_reply_is_nudged_and_several_end_the_run(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say(""), say("  "), say(""))
    conversation = conversations.create()
    conversation.send(user("Go."))

    await conversation.run()

    assert len(scripted_llm.requests) == 3
    assert of_kind(conversation, "ConversationErrorEvent")[0]["code"] == "EmptyReply"


async def test_a_run_stops_at_its_limit_of_replies_and_may_go_on(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(
        calls(("think", {"thought": "1"})), calls(("think", {"thought": "2"})), say("at last")
    )
    conversation = conversations.create(max_iterations=2)
    conversation.send(user("Go."))

    await conversation.run()
    assert of_kind(conversation, "ConversationErrorEvent")[0]["code"] == "MaxIterationsReached"
    assert conversation.status == "error"

    await conversation.run()
    assert conversation.state.final_response == "at last"


async def test_a_failing_vendor_is_asked_again_and_then_reported(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(fail(503), fail(429, retry_after=0), fail(500, error="on fire"), say("back again"))
    conversation = conversations.create(llm={"num_retries": 2})
    conversation.send(user("Go."))

    await conversation.run()
    (error,) = of_kind(conversation, "ConversationErrorEvent")
    assert error["code"] == "LLMServiceUnavailableError"
    assert "on fire" in error["detail"]
    assert error["classification"]["retryable"] is True
    assert statuses_of(conversation) == ["running", "paused"]

    await conversation.run()
    assert conversation.state.final_response == "back again"


async def test_a_refused_key_is_not_tried_again_and_not_repeated(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(fail(401, error=f"Incorrect API key: {scripted_llm.api_key}"))
    conversation = conversations.create()
    conversation.send(user("Go."))

    await conversation.run()

    (error,) = of_kind(conversation, "ConversationErrorEvent")
    assert error["code"] == "LLMAuthenticationError"
    assert scripted_llm.api_key not in error["detail"]
    assert len(scripted_llm.requests) == 1


async def test_a_streamed_reply_is_published_piece_by_piece_and_ends_in_its_event(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(cut(say("Half a sentence"), after=2), say("A whole sentence.", reasoning="Hm, yes."))
    conversation = conversations.create()
    watch = Watch(conversation)
    conversation.send(user("Speak."))

    await conversation.run()

    (message,) = [e for e in of_kind(conversation, "MessageEvent") if e["source"] == "agent"]
    assert {frame["item_id"] for frame in watch.of_type("delta")} == {message["id"]}
    assert [frame["attempt"] for frame in watch.of_type("item_started")] == [1, 2]
    assert [frame["attempt"] for frame in watch.of_type("item_aborted")] == [1]
    second = [frame for frame in watch.of_type("delta") if frame["attempt"] == 2]
    assert [frame["order"] for frame in second] == list(range(len(second)))
    assert "".join(f["content"] for f in second if f["kind"] == "text") == "A whole sentence."
    assert "".join(f["content"] for f in second if f["kind"] == "reasoning") == "Hm, yes."


async def test_the_last_frame_of_a_run_is_the_full_state_and_says_it_is_over(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("done"))
    conversation = conversations.create()
    watch = Watch(conversation)
    conversation.send(user("Go."))

    await conversation.run()

    last = watch.frames[-1]
    assert last["type"] == "transient"
    assert last["event"]["key"] == "full_state"
    assert last["event"]["value"]["execution_status"] == "finished"
    assert last["event"]["value"]["agent"]["llm"]["api_key"] == "**********"


async def test_what_the_calls_used_adds_up(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(
        calls(("think", {"thought": "x"})),
        say("done", prompt_tokens=50, completion_tokens=5, cached_tokens=20),
    )
    conversation = conversations.create(llm={"input_cost_per_token": 0.01, "output_cost_per_token": 0.1})
    conversation.send(user("Go."))

    await conversation.run()

    metrics = conversation.info().stats["usage_to_metrics"]["agent"]
    assert metrics["accumulated_token_usage"]["prompt_tokens"] == 150
    assert metrics["accumulated_token_usage"]["completion_tokens"] == 15
    assert metrics["accumulated_token_usage"]["cache_read_tokens"] == 20
    assert metrics["accumulated_cost"] == pytest.approx(3.0)


async def test_a_reply_that_is_not_streamed_serves_as_well(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("terminal", command="echo x"), say("done"))
    conversation = conversations.create(llm={"stream": False})
    conversation.send(user("Go."))

    await conversation.run()

    assert conversation.state.final_response == "done"
    assert "stream" not in scripted_llm.requests[0].body


async def test_parameters_that_clients_do_not_know_reach_the_tool(conversations: Conversations):
    path = str(conversations.workspace / "a.txt")
    edits = [{"old_str": "x", "new_str": "y"}, {"old_str": "z", "new_str": "w", "replace_all": True}]
    conversations.llm.script(
        call("file_editor", command="create", path=path, file_text="x z z"),
        call("file_editor", command="str_replace", path=path, edits=edits),
        call("grep", pattern="y", path=path, context=1),
        say("Done."),
    )
    conversation = conversations.create(tools=["file_editor", "grep"])
    conversation.send(user("Go."))
    await conversation.run()

    assert (conversations.workspace / "a.txt").read_text() == "y w w"
    assert "a.txt:1:y w w" in conversations.llm.requests[3].last_text
    assert [event["action"].keys() for event in of_kind(conversation, "ActionEvent")][1:] == [
        {"command", "path", "old_str", "new_str", "kind"},
        {"pattern", "path", "kind"},
    ]
