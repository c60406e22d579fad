"""An agent that repeats itself gets a hint and is then stopped. An agent that waits for a command is not
stopped.
"""

from tests.agent_runtime.conversation.conftest import Conversations, of_kind, statuses_of, user
from tests.support.scripted_llm import ScriptedLLM, Turn, call, calls, say


def nudges(conversation) -> list[str]:
    said = of_kind(conversation, "MessageEvent")
    return [event["llm_message"]["content"][0]["text"] for event in said if event["source"] == "environment"]


async def test_the_same_call_with_the_same_result_brings_a_nudge_and_then_the_end(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = call("terminal", command="echo same")
    conversation = conversations.create()
    conversation.send(user("Go."))

    await conversation.run()

    assert statuses_of(conversation)[-1] == "stuck"
    assert len(of_kind(conversation, "ObservationEvent")) == 5
    assert len(nudges(conversation)) == 1


async def test_an_agent_that_follows_the_hint_continues(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(*[call("terminal", command="echo same")] * 4, call("finish", message="Right."))
    conversation = conversations.create()
    conversation.send(user("Go."))

    await conversation.run()

    assert conversation.status == "finished"
    assert "same result" in scripted_llm.requests[-1].last_text


async def test_a_call_that_keeps_failing_is_noticed_earlier(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = call("no_such_tool")
    conversation = conversations.create()
    conversation.send(user("Go."))

    await conversation.run()

    assert conversation.status == "stuck"
    assert len(of_kind(conversation, "AgentErrorEvent")) == 4


async def test_going_back_and_forth_is_noticed(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(*[call("terminal", command="echo a"), call("terminal", command="echo b")] * 5)
    conversation = conversations.create()
    conversation.send(user("Go."))

    await conversation.run()

    assert conversation.status == "stuck"
    assert len(of_kind(conversation, "ObservationEvent")) == 7


async def test_results_that_change_are_progress(conversations: Conversations, scripted_llm: ScriptedLLM):
    again = call("terminal", command="echo x >> n; wc -l < n")
    scripted_llm.script(*[again] * 10, say("Done."))
    conversation = conversations.create()
    conversation.send(user("Go."))

    await conversation.run()

    assert conversation.status == "finished"
    assert nudges(conversation) == []


async def test_asking_a_running_command_for_news_is_waiting(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    ask = call("terminal", command="", timeout=0.1)
    scripted_llm.script(call("terminal", command="cat", timeout=0.1), *[ask] * 8, say("Still building."))
    conversation = conversations.create()
    conversation.send(user("Build."))

    await conversation.run()

    assert conversation.status == "finished"
    assert nudges(conversation) == []


async def test_a_users_message_makes_a_stuck_conversation_usable(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    same: Turn = call("terminal", command="echo same")
    scripted_llm.script(*[same] * 5, same, same, say("Done."))
    conversation = conversations.create()
    conversation.send(user("Go."))
    await conversation.run()

    conversation.send(user("Try it twice more, then stop."))
    status_before_run = conversation.status
    await conversation.run()

    assert status_before_run == "idle"
    assert conversation.status == "finished"


async def test_running_a_stuck_conversation_again_lets_it_try_again(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(*[call("terminal", command="echo same")] * 5, say("Done."))
    conversation = conversations.create()
    conversation.send(user("Go."))
    await conversation.run()

    await conversation.run()

    assert statuses_of(conversation) == ["running", "stuck", "running", "finished"]


async def test_thresholds_can_be_set_and_detection_switched_off(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(*[call("terminal", command="echo same")] * 9, say("Done."))
    conversation = conversations.create(stuck_detection_thresholds={"action_observation": 9})
    conversation.send(user("Go."))
    await conversation.run()
    told = nudges(conversation)
    await conversation.delete()

    scripted_llm.script(*[call("terminal", command="echo same")] * 9, say("Done."))
    careless = conversations.create(stuck_detection=False)
    careless.send(user("Go."))
    await careless.run()

    assert len(told) == 1
    assert nudges(careless) == []


SAME = call("terminal", command="echo same")


async def test_where_there_is_a_user_the_agent_asks_and_the_conversation_waits(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(*[SAME] * 5, say("I cannot go on. Which branch is right?"), say("Done."))
    conversation = conversations.create(ask_when_stuck=True)
    conversation.send(user("Go."))

    await conversation.run()
    asked = (conversation.status, conversation.state.final_response)
    await conversation.run()
    waited = len(scripted_llm.requests)
    conversation.send(user("The main one."))
    await conversation.run()

    assert asked == ("idle", "I cannot go on. Which branch is right?")
    assert waited == 6
    assert len(nudges(conversation)) == 2
    assert "ask the user" in scripted_llm.requests[5].last_text
    assert conversation.status == "finished"


async def test_a_question_can_come_with_finish_and_other_calls_are_not_run(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    both = calls(("terminal", {"command": "touch ran"}), ("finish", {"message": "Which one?"}))
    scripted_llm.script(*[SAME] * 5, both)
    conversation = conversations.create(ask_when_stuck=True)
    conversation.send(user("Go."))

    await conversation.run()

    assert conversation.status == "idle"
    assert conversation.state.final_response == "Which one?"
    assert not (conversations.workspace / "ran").exists()


async def test_an_agent_that_does_not_ask_is_stuck(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.fallback = SAME
    conversation = conversations.create(ask_when_stuck=True)
    conversation.send(user("Go."))

    await conversation.run()

    assert conversation.status == "stuck"
    assert len(of_kind(conversation, "ObservationEvent")) == 5
    assert "told to stop" in of_kind(conversation, "AgentErrorEvent")[0]["error"]


async def test_going_on_in_circles_after_an_answer_is_the_end_until_the_next_message(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(*[SAME] * 5, say("Which one?"), *[SAME] * 5, say("Done."))
    conversation = conversations.create(ask_when_stuck=True)
    conversation.send(user("Go."))
    await conversation.run()

    conversation.send(user("That one."))
    await conversation.run()
    after_answer = conversation.status
    conversation.send(user("Leave it."))
    await conversation.run()

    assert after_answer == "stuck"
    assert conversation.status == "finished"


async def test_a_question_outlives_a_restart(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(*[SAME] * 5, say("Which one?"))
    conversation = conversations.create(ask_when_stuck=True)
    conversation.send(user("Go."))
    await conversation.run()
    await conversation.close()

    reopened = conversations.reopen()

    assert (reopened.status, reopened.state.must_ask) == ("idle", True)


async def test_asking_for_news_where_nothing_runs_is_no_waiting(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = call("terminal", command="")
    conversation = conversations.create()
    conversation.send(user("Go."))

    await conversation.run()

    assert conversation.status == "stuck"


async def test_looking_again_after_a_sleep_is_given_longer_and_not_for_ever(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    look = call("terminal", command="sleep 0.01; cat log")
    scripted_llm.script(call("terminal", command="echo compiling > log"), *[look] * 19, say("It takes long."))
    conversation = conversations.create()
    conversation.send(user("Wait for the build."))
    await conversation.run()
    patient = (conversation.status, nudges(conversation))

    scripted_llm.fallback = look
    conversation.send(user("Wait on."))
    await conversation.run()

    assert patient == ("finished", [])
    assert conversation.status == "stuck"
