"""An agent of a conversation with `expects_finish` that ends a reply without a call is asked once to continue
or to finish.
"""

import pytest

from agent_runtime.events.state import ExecutionStatus
from tests.agent_runtime.conversation.conftest import Conversations, of_kind, statuses_of, user
from tests.support.scripted_llm import call, say


def told(conversation) -> list[str]:
    messages = [event for event in of_kind(conversation, "MessageEvent") if event["source"] == "environment"]
    return [message["llm_message"]["content"][0]["text"] for message in messages]


async def test_an_announcement_does_not_end_the_run(conversations: Conversations):
    conversations.llm.script(
        say("Now I will run the tests."),
        call("terminal", command="touch ran"),
        call("finish", message="Ran."),
    )
    conversation = conversations.create(expects_finish=True)
    conversation.send(user("Run the tests."))
    await conversation.run()

    assert (conversations.workspace / "ran").exists()
    assert conversation.state.final_response == "Ran."
    assert conversation.status is ExecutionStatus.FINISHED
    (text,) = told(conversation)
    assert "Go on with the task by calling a tool, or call `finish`" in text
    assert text in conversations.llm.requests[1].last_text


async def test_a_second_reply_without_a_call_ends_the_run_and_a_call_resets_the_count(
    conversations: Conversations,
):
    conversations.llm.script(
        say("Four."), call("terminal", command="true"), say("Four."), say("Four, as I said."), say("Five.")
    )
    conversation = conversations.create(expects_finish=True)
    conversation.send(user("2 + 2?"))
    await conversation.run()
    assert conversation.state.final_response == "Four, as I said."
    assert len(told(conversation)) == 2
    await conversation.close()

    again = conversations.reopen()
    assert again.state.told_to_finish
    conversations.llm.script(say("Five, really."))
    again.send(user("2 + 3?"))
    await again.run()
    assert again.state.final_response == "Five, really."
    assert statuses_of(again)[-1] == "finished"


@pytest.mark.parametrize("request_", [{}, {"ask_when_stuck": True}])
async def test_where_a_person_reads_along_words_are_an_answer(conversations: Conversations, request_):
    conversations.llm.script(say("Four."))
    conversation = conversations.create(**request_)
    conversation.send(user("2 + 2?"))
    await conversation.run()
    assert told(conversation) == []
