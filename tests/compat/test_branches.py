"""Tests of the SDK client: side questions, condensing, forks, and going back to an earlier event."""

import httpx
import pytest
from openhands.sdk import Agent
from openhands.sdk.context.condenser import LLMSummarizingCondenser
from openhands.sdk.conversation.state import ConversationExecutionStatus as Status
from openhands.sdk.event import MessageEvent
from openhands.sdk.event.condenser import Condensation

from tests.compat.conftest import Begin, kinds, make_agent, make_llm, only
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, say


def texts(conversation) -> list[str]:
    return [event.llm_message.content[0].text for event in only(conversation.state.events, MessageEvent)]


def talk(conversation, *messages: str) -> None:
    for text in messages:
        conversation.send_message(text)
        conversation.run(timeout=PATIENCE_SECONDS)


def test_a_question_beside_the_work_leaves_no_trace(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("One."))
    conversation = begin("terminal")
    talk(conversation, "first")
    scripted_llm.aside = None
    scripted_llm.script(say("It is blue."))
    before = kinds(begin(conversation_id=conversation.id).state.events)

    assert conversation.ask_agent("What colour?") == "It is blue."

    assert kinds(begin(conversation_id=conversation.id).state.events) == before
    assert scripted_llm.requests[-1].tool_names == []


def test_a_conversation_is_condensed_on_request(begin: Begin, scripted_llm: ScriptedLLM):
    notes, answer = say("In short: much was said."), say("Yes.")
    scripted_llm.fallback = lambda request: notes if "Write the notes" in request.last_text else answer
    condenser = LLMSummarizingCondenser(llm=make_llm(scripted_llm, usage_id="condenser"), keep_first=1)
    conversation = begin(agent=Agent(llm=make_llm(scripted_llm), tools=[], condenser=condenser))
    talk(conversation, *(f"message {number}" for number in range(8)))

    conversation.condense()

    again = begin(conversation_id=conversation.id)
    (condensation,) = only(again.state.events, Condensation)
    assert condensation.summary == "In short: much was said."
    assert condensation.forgotten_event_ids
    stats = again.state.stats.usage_to_metrics
    assert stats["condenser"].accumulated_token_usage is not None
    talk(again, "go on")
    assert "In short: much was said." in str(scripted_llm.requests[-1].messages)


def test_without_a_condenser_there_is_nothing_to_condense_with(begin: Begin):
    with pytest.raises(httpx.HTTPStatusError) as refusal:
        begin().condense()

    assert refusal.value.response.status_code == 409


def test_a_fork_goes_its_own_way_with_the_same_model(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("One."), say("Fork."), say("Original."))
    conversation = begin(tags={"team": "red"})
    talk(conversation, "first")

    fork = conversation.fork(title="Another way", tags={"team": "blue"})

    talk(fork, "in the fork")
    talk(conversation, "in the original")
    assert texts(fork) == ["first", "One.", "in the fork", "Fork."]
    assert texts(conversation) == ["first", "One.", "in the original", "Original."]
    info = fork.state.refresh_from_server()
    assert (info["title"], info["tags"]) == ("Another way", {"team": "blue"})
    fork._client.delete(f"/api/conversations/{fork.id}")
    fork.close()


def test_a_fork_can_begin_at_an_earlier_event(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("One."), say("Two."))
    conversation = begin()
    talk(conversation, "first", "second")
    answer = only(conversation.state.events, MessageEvent)[1]

    fork = conversation.fork(from_event_id=answer.id, reset_metrics=False)

    assert texts(fork) == ["first", "One."]
    usage = fork.state.stats.usage_to_metrics["agent"].accumulated_token_usage
    assert usage is not None
    assert usage.prompt_tokens == 200
    fork._client.delete(f"/api/conversations/{fork.id}")
    fork.close()
    with pytest.raises(httpx.HTTPStatusError, match="404"):
        conversation.fork(from_event_id="no-such-event")


def test_going_back_makes_another_branch(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("One."), say("Two."), say("Three."))
    conversation = begin()
    talk(conversation, "first", "second")
    answer = only(conversation.state.events, MessageEvent)[1]

    conversation.navigate_to(answer.id)

    assert conversation.state.refresh_from_server()["leaf_event_id"] == answer.id
    talk(conversation, "another second")
    assert "second" not in [message["content"] for message in scripted_llm.requests[-1].messages]
    newest = only(conversation.state.events, MessageEvent)[-2]
    assert newest.parent_id == answer.id
    assert conversation.state.execution_status is Status.FINISHED
    with pytest.raises(httpx.HTTPStatusError, match="404"):
        conversation.navigate_to("no-such-event")


def test_going_back_to_the_beginning_forgets_all(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("One."), say("Two."))
    conversation = begin(agent=make_agent(scripted_llm))
    talk(conversation, "first")

    conversation.navigate_to(None)
    talk(conversation, "anew")

    assert "first" not in str(scripted_llm.requests[-1].messages)
