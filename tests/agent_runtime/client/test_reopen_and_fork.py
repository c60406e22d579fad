"""Tests of closing, reopening and forking a conversation and of switching its model, in process and on a
server.
"""

import pytest

from agent_runtime import (
    AgentContext,
    AlreadyRunningError,
    AnyEvent,
    CheckpointNotFoundError,
    ConversationError,
    EditedSinceError,
    EventNotFoundError,
    ToolSpec,
)
from tests.agent_runtime.client.conftest import Place, last_message, messages
from tests.support.scripted_llm import call, hang, say


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


def test_a_conversation_of_an_agent_with_skills_is_reopened(local_or_remote: Place):
    skill = {"name": "harbour", "content": "Ships are in the harbour.", "trigger": None, "source": None}
    agent = local_or_remote.agent().model_copy(update={"agent_context": AgentContext(skills=[skill])})
    first = local_or_remote.conversation(agent)
    first.close()

    again = local_or_remote.conversation(agent, conversation_id=first.id)

    assert again.state.info.agent["agent_context"]["skills"] == [skill]


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

    said = [m.llm_message.text for m in messages(conversation.state.events)]
    assert said == ["Is it?", "Yes.", "Sure?", "Perhaps."]
    with pytest.raises(EventNotFoundError):
        conversation.fork(from_event_id="nowhere")


def test_one_can_go_back_and_take_another_turn(place: Place):
    place.llm.script(say("Red."), lambda request: say(f"{len(request.messages)} messages"))
    conversation = place.conversation()
    conversation.send_message("A colour?")
    conversation.run()
    answer = last_message(conversation.state.events)
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
