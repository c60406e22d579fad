"""Tests of rewinding a conversation to an earlier event, of continuing from there, and of forks."""

from pathlib import Path
from uuid import uuid4

import pytest

from agent_runtime.conversation.branches import go_back
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import AlreadyRunningError, EventNotFoundError
from agent_runtime.conversation.fork import fork
from agent_runtime.wire import ForkRequest
from tests.agent_runtime.conversation.conftest import Conversations, Watch, events_of, kinds_of, of_kind, user
from tests.agent_runtime.conversation.labour import assert_pairs, texts, think
from tests.support.scripted_llm import ScriptedLLM, call, calls, hang, say


async def talked(conversations: Conversations, llm: ScriptedLLM) -> ConversationEngine:
    """Runs a conversation with two questions of the user and two answers of the agent, and returns it."""
    llm.script(say("One."), say("Two."))
    conversation = conversations.create()
    for question in ("First?", "Second?"):
        conversation.send(user(question))
        await conversation.run()
    return conversation


def event_id(conversation: ConversationEngine, text: str) -> str:
    said = of_kind(conversation, "MessageEvent")
    return next(e["id"] for e in said if e["llm_message"]["content"][0]["text"] == text)


async def test_after_going_back_the_model_sees_only_what_led_there(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = await talked(conversations, scripted_llm)
    before = events_of(conversation)
    scripted_llm.script(say("Another two."))

    go_back(conversation, event_id(conversation, "One."))
    conversation.send(user("Second, differently?"))
    await conversation.run()

    assert texts(scripted_llm.requests[-1])[1:] == ["First?", "One.", "Second, differently?"]
    assert events_of(conversation)[: len(before)] == before
    assert conversation.state.final_response == "Another two."


async def test_going_back_to_a_question_lets_it_be_answered_again(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = await talked(conversations, scripted_llm)
    scripted_llm.script(say("Two, on reflection."))

    go_back(conversation, event_id(conversation, "Second?"))
    await conversation.run()

    assert texts(scripted_llm.requests[-1])[1:] == ["First?", "One.", "Second?"]
    assert conversation.state.final_response == "Two, on reflection."


async def test_going_back_to_the_very_beginning_starts_afresh(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = await talked(conversations, scripted_llm)
    scripted_llm.script(say("Hello."))

    go_back(conversation, None)
    assert conversation.info().leaf_event_id is None
    conversation.send(user("Hi."))
    await conversation.run()

    assert [m["role"] for m in scripted_llm.requests[-1].messages] == ["system", "user"]


async def test_the_branch_is_the_same_after_a_restart(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = await talked(conversations, scripted_llm)
    go_back(conversation, event_id(conversation, "One."))
    conversation.send(user("Third?"))
    seen, state = conversation.run_context.model_input.messages(), conversation.state
    await conversation.close()

    again = conversations.reopen()

    assert again.run_context.model_input.messages() == seen
    assert again.state == state


async def test_a_call_one_goes_back_to_is_answered(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(
        calls(("think", {"thought": "a"}), ("think", {"thought": "b"})), say("Done."), say("Well.")
    )
    conversation = conversations.create()
    conversation.send(user("Go."))
    await conversation.run()

    go_back(conversation, of_kind(conversation, "ActionEvent")[0]["id"])
    await conversation.run()

    assert_pairs(scripted_llm.requests[-1].messages)
    assert "going back" in scripted_llm.requests[-1].last_text


async def test_going_back_is_refused_during_a_run_and_for_unknown_events(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(hang())
    conversation = conversations.create()
    conversation.send(user("Go."))
    with pytest.raises(EventNotFoundError):
        go_back(conversation, "nowhere")

    conversation.start()
    await scripted_llm.wait_for_requests(1)
    with pytest.raises(AlreadyRunningError):
        go_back(conversation, None)


async def test_a_fork_has_the_same_past_and_separate_later_events(
    conversations: Conversations, scripted_llm: ScriptedLLM, tmp_path: Path
):
    conversation = await talked(conversations, scripted_llm)
    scripted_llm.script(say("Three."))
    before = events_of(conversation)

    copy = conversations._keep(await fork(conversation, tmp_path / "fork", ForkRequest()))
    copy.send(user("Third?"))
    await copy.run()

    assert texts(scripted_llm.requests[-1])[1:] == ["First?", "One.", "Second?", "Two.", "Third?"]
    assert scripted_llm.requests[-1].bearer == scripted_llm.api_key
    assert events_of(conversation) == before
    assert copy.id != conversation.id
    assert copy.info().forked_from_conversation_id == conversation.id


async def test_a_fork_can_begin_at_an_earlier_event_and_keep_the_costs(
    conversations: Conversations, scripted_llm: ScriptedLLM, tmp_path: Path
):
    conversation = await talked(conversations, scripted_llm)
    first = event_id(conversation, "One.")
    wanted = uuid4()

    cheap = conversations._keep(await fork(conversation, tmp_path / "a", ForkRequest(from_event_id=first)))
    dear = conversations._keep(
        await fork(
            conversation,
            tmp_path / "b",
            ForkRequest(id=wanted, reset_metrics=False, title="T", tags={"a": "b"}),
        )
    )

    assert kinds_of(cheap) == ["SystemPromptEvent", "MessageEvent", "MessageEvent"]
    assert cheap.info().stats == {"usage_to_metrics": {}}
    assert dear.info().stats == conversation.info().stats
    assert (dear.id, dear.info().title, dear.info().tags) == (wanted, "T", {"a": "b"})
    assert cheap.info().forked_from_event_id == first
    assert not cheap.state.has_work
    with pytest.raises(FileExistsError):
        await fork(conversation, tmp_path / "a", ForkRequest())
    with pytest.raises(EventNotFoundError):
        await fork(conversation, tmp_path / "c", ForkRequest(from_event_id="nowhere"))


async def test_a_fork_of_a_running_conversation_waits_for_nothing(
    conversations: Conversations, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(think("a"), call("terminal", command="sleep 60"), say("So?"))
    conversation = conversations.create()
    conversation.send(user("Go."))
    watch = Watch(conversation)
    conversation.start()
    await watch.until(lambda frame: frame.get("event", {}).get("tool_name") == "terminal")

    copy = conversations._keep(await fork(conversation, tmp_path / "fork", ForkRequest()))
    await copy.run()

    assert copy.status == "finished"
    assert conversation.is_running
    assert_pairs(scripted_llm.requests[-1].messages)
