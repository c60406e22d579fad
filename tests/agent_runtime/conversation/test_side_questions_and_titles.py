"""Tests of the titles and tags of a conversation, and of side questions: their answers are not added to the
conversation.
"""

import pytest

from agent_runtime.conversation.changes import relabel
from agent_runtime.conversation.side_question import ask
from agent_runtime.wire import StartConversationRequest
from tests.agent_runtime.conversation.conftest import Conversations, Watch, events_of, user
from tests.support.scripted_llm import Request, ScriptedLLM, Turn, fail, hold, say


async def test_a_question_is_answered_from_the_history_and_leaves_no_trace(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("It was a comma."), say("Line 7."))
    conversation = conversations.create()
    conversation.send(user("Mend it."))
    await conversation.run()
    before = events_of(conversation)

    answer = await ask(conversation, "Where?")

    assert answer == "Line 7."
    assert events_of(conversation) == before
    assert scripted_llm.requests[-1].tool_names == []
    assert [m["content"] for m in scripted_llm.requests[-1].messages[1:3]] == ["Mend it.", "It was a comma."]
    assert "Where?" in scripted_llm.requests[-1].last_text


async def test_a_question_is_answered_while_the_agent_works(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    held = hold(say("Done."))
    scripted_llm.script(held, say("Soon."))
    conversation = conversations.create()
    conversation.send(user("Go."))
    conversation.start()
    await scripted_llm.wait_for_requests(1)

    answer = await ask(conversation, "When?")
    held.release()
    await conversation.wait()

    assert answer == "Soon."
    assert conversation.state.final_response == "Done."


def naming(title: Turn):
    """Returns a model that answers a request for a title with `title` and all other requests with "Done."."""
    return lambda request: title if is_naming(request) else say("Done.")


def is_naming(request: Request) -> bool:
    return not request.tool_names


async def test_a_title_is_made_of_the_first_message_where_one_is_asked_for(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = naming(say('"Mend the parser\'s comma."\n'))
    conversation = conversations.create(autotitle=True)
    watch = Watch(conversation)
    conversation.send(user("Please mend the comma in the parser."))
    await conversation.run()

    await watch.until(lambda frame: frame.get("event", {}).get("key") == "title")

    info = conversation.info()
    assert info.title == "Mend the parser's comma"
    assert "title" in info.stats["usage_to_metrics"]
    conversation.send(user("And the next."))
    await conversation.run()
    assert sum(map(is_naming, scripted_llm.requests)) == 1


async def test_a_title_publishes_no_full_state_which_clients_take_for_the_end_of_a_run(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = naming(say("A title"))
    conversation = conversations.create(autotitle=True)
    watch = Watch(conversation)

    conversation.send(user("Correct the comma."))
    await watch.until(lambda frame: frame.get("event", {}).get("key") == "title")

    assert "full_state" not in [frame.get("event", {}).get("key") for frame in watch.frames]


async def test_where_none_is_wanted_no_title_is_made(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Done."))
    conversation = conversations.create(autotitle=False)
    conversation.send(user("Go."))
    await conversation.run()

    assert len(scripted_llm.requests) == 1


def test_a_title_is_wanted_unless_the_start_says_otherwise():
    asked = {"agent": {}, "workspace": {"working_dir": "/w"}}
    assert StartConversationRequest.model_validate(asked).autotitle


@pytest.mark.parametrize("reply", [fail(400), say("\n")])
async def test_where_the_model_has_no_title_it_is_the_first_words(
    conversations: Conversations, scripted_llm: ScriptedLLM, reply: Turn
):
    scripted_llm.fallback = naming(reply)
    conversation = conversations.create(autotitle=True)
    watch = Watch(conversation)
    conversation.send(user(f"\n  Mend  the {'long ' * 20}comma.\nSoon."))
    await conversation.run()
    await watch.until(lambda frame: frame.get("event", {}).get("key") == "title")

    title = conversation.info().title
    assert title is not None
    assert title.startswith("Mend the long long")
    assert title.endswith("…")
    assert len(title) <= 80
    assert conversation.status == "finished"


async def test_the_named_profile_makes_the_title_and_the_agents_model_where_there_is_none(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = naming(say("A title"))
    conversation = conversations.create(autotitle=True, title_llm_profile="small")
    small = conversation.agent.llm.model_copy(update={"model": "openai/small"})
    conversation.naming.saved_llm = {"small": small}.get
    conversation.send(user("Go."))
    await conversation.run()
    await scripted_llm.wait_for_requests(2)

    models = {is_naming(request): request.body["model"] for request in scripted_llm.requests}
    assert models == {True: "small", False: "scripted"}
    conversation.naming.saved_llm = {}.get
    await conversation.naming.generate()
    assert [request.body["model"] for request in scripted_llm.requests if is_naming(request)][1:] == [
        "scripted"
    ]


async def test_title_and_tags_are_set_and_kept(conversations: Conversations, scripted_llm: ScriptedLLM):
    conversation = conversations.create(title="Old", tags={"a": "1"})

    relabel(conversation, title="New", tags={"b": "2"})
    await conversation.close()

    info = conversations.reopen().info()
    assert (info.title, info.tags) == ("New", {"b": "2"})


async def test_closing_ends_what_happens_aside(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.fallback = naming(hold(say("Never.")))
    conversation = conversations.create(autotitle=True)
    conversation.send(user("Go."))
    await conversation.run()

    await conversation.close()

    assert conversation.is_closed
