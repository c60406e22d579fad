"""A conversation with ten thousand events opens from its snapshot, without reading the early events."""

import sqlite3
from contextlib import closing
from pathlib import Path

from agent_runtime.conversation.creation import create_conversation, open_conversation
from agent_runtime.conversation.event_log.fold import fold_log
from agent_runtime.conversation.event_log.log import LOG_NAME
from agent_runtime.events.message import Message
from agent_runtime.llm.complete import LLMClient
from agent_runtime.wire import StartConversationRequest
from tests.agent_runtime.server.conftest import start_request
from tests.support.scripted_llm import ScriptedLLM, say

EVENTS = 10_000


async def test_it_opens_from_its_snapshot_and_what_came_after_it(scripted_llm: ScriptedLLM, tmp_path: Path):
    directory = tmp_path / "c"
    client = LLMClient()
    request = StartConversationRequest.model_validate(start_request(scripted_llm, tmp_path))
    first = create_conversation(directory, request, client)
    for number in range(EVENTS):
        first.send(Message.of("user", f"number {number}"))
    whole = fold_log(first.log, "agent")
    assert (whole.state, whole.view.messages()) == (first.state, first.run_context.model_input.messages())
    state, messages = first.state, first.run_context.model_input.messages()
    first.log.close()  # as if the process had been killed
    with closing(sqlite3.connect(directory / LOG_NAME)) as log, log:
        # Makes reading one of the early events fail. The first event is kept, because it begins the turn.
        early = [state.unseen_messages[0][0], EVENTS - 1_500]
        log.execute("UPDATE events SET body = 'unreadable' WHERE seq != ? AND seq <= ?", early)

    again = open_conversation(directory, client)

    assert (again.state, again.run_context.model_input.messages()) == (state, messages)
    scripted_llm.script(say("I have read it all."))
    await again.run()
    assert len(scripted_llm.requests[0].messages) == EVENTS + 1
    await again.close()
    await client.close()
