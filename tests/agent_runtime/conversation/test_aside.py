"""What happens beside the work: questions, titles, tags."""

from agent_runtime.conversation.ask import ask
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
    """A model that names conversations, and otherwise is done at once."""
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


async def test_without_being_asked_no_title_is_made(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Done."))
    conversation = conversations.create()
    conversation.send(user("Go."))
    await conversation.run()

    assert len(scripted_llm.requests) == 1


async def test_a_title_that_cannot_be_had_does_no_harm(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = naming(fail(400))
    conversation = conversations.create()
    conversation.send(user("Go."))
    await conversation.run()

    await conversation.generate_title()

    assert conversation.info().title is None
    assert conversation.status == "finished"


async def test_title_and_tags_are_set_and_kept(conversations: Conversations, scripted_llm: ScriptedLLM):
    conversation = conversations.create(title="Old", tags={"a": "1"})

    conversation.update(title="New", tags={"b": "2"})
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
