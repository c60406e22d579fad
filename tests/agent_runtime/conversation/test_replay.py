"""From the log alone, a replay gives the same state and the same prompts, byte for byte."""

import sqlite3

import orjson
import pytest

from agent_runtime.conversation.branches import go_back
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log.fold import Fold, fold_log
from agent_runtime.conversation.event_log.log import LOG_NAME
from agent_runtime.conversation.event_log.replay import replay
from tests.agent_runtime.conversation.conftest import Conversations, events_of, user
from tests.agent_runtime.conversation.labour import agent_requests, condensing, think, working
from tests.support.scripted_llm import ScriptedLLM, call, calls, hold, say


async def plain(conversations: Conversations, llm: ScriptedLLM) -> ConversationEngine:
    """Runs a conversation with two parallel calls, a failed call, and a user message that comes during a
    model call. Returns the conversation.
    """
    held = hold(call("terminal", command="echo two"))
    llm.script(
        calls(("terminal", {"command": "echo one"}), ("think", {"thought": "hm"})),
        held,
        call("no_such_tool"),
        call("finish", message="Done."),
    )
    conversation = conversations.create()
    conversation.send(user("Go."))
    conversation.start()
    await llm.wait_for_requests(2)
    conversation.send(user("And this."))
    held.release()
    await conversation.wait()
    return conversation


async def condensed(conversations: Conversations, llm: ScriptedLLM) -> ConversationEngine:
    llm.fallback = working(20)
    conversation = conversations.create(agent=condensing(conversations, max_size=16))
    conversation.send(user("Go."))
    await conversation.run()
    return conversation


async def went_back(conversations: Conversations, llm: ScriptedLLM) -> ConversationEngine:
    llm.script(think("a"), say("One."), say("Other."))
    conversation = conversations.create()
    conversation.send(user("Go."))
    await conversation.run()
    go_back(conversation, events_of(conversation)[1]["id"])
    conversation.send(user("Differently."))
    await conversation.run()
    return conversation


@pytest.mark.parametrize("record", [plain, condensed, went_back])
async def test_a_replay_gives_every_prompt_and_the_state(
    record, conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = await record(conversations, scripted_llm)

    prompts = list(replay(conversation.log, "agent"))
    again = list(replay(conversation.log, "agent"))

    sent = [request.messages for request in agent_requests(scripted_llm)]
    assert [[orjson.loads(m) for m in prompt.messages] for prompt in prompts] == sent
    assert again == prompts
    assert fold_log(conversation.log, "agent").state == conversation.state
    assert (
        fold_log(conversation.log, "agent").view.messages() == conversation.run_context.model_input.messages()
    )


async def test_a_snapshot_and_what_follows_is_the_same_as_the_whole_log(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = await condensed(conversations, scripted_llm)
    whole = fold_log(conversation.log, "agent")
    records = list(conversation.log.records())

    for cut in range(len(records)):
        part = Fold("agent").take_records(records[:cut])
        snapshot = part.snapshot()
        if snapshot is None:
            continue
        resumed = Fold.restore(snapshot, "agent").take_records(records[cut:])
        assert resumed.state == whole.state
        assert resumed.view.messages() == whole.view.messages()
        assert resumed.context_tokens == whole.context_tokens


@pytest.mark.parametrize("snapshot", ["{", '{"format":[0]}', '{"format":null,"state":{}}'])
async def test_a_snapshot_that_cannot_be_read_is_not_needed(
    snapshot: str, conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = await plain(conversations, scripted_llm)
    seen, state = conversation.run_context.model_input.messages(), conversation.state
    conversation.log.set_meta("snapshot", snapshot)
    await conversation.close()

    again = conversations.reopen()

    assert (again.run_context.model_input.messages(), again.state) == (seen, state)


async def test_a_long_conversation_opens_without_reading_its_old_events(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = working(700)
    conversation = conversations.create(
        agent=condensing(conversations), llm={"stream": False}, max_iterations=1_000
    )
    conversation.send(user("Go."))
    await conversation.run()
    whole = fold_log(conversation.log, "agent")
    await conversation.close()
    with sqlite3.connect(conversation.directory / LOG_NAME) as db:
        # The old events are made unreadable, so that opening fails if it reads them.
        spoiled = db.execute("UPDATE events SET body = x'00' WHERE seq < ?", [whole.state.last_seq - 200])
    db.close()

    again = conversations.reopen()

    assert spoiled.rowcount > 1_800
    assert again.run_context.model_input.messages() == whole.view.messages()
    assert again.state == whole.state
