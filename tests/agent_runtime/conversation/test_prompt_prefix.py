"""Each prompt begins with the bytes of the previous prompt, so that the vendor's prompt cache can be used."""

from itertools import pairwise

import orjson

from agent_runtime.context import environment_facts as surroundings_module
from tests.agent_runtime.conversation.conftest import Conversations, of_kind, user
from tests.support.scripted_llm import Request, call, calls

STEPS = 100


def encoded(request: Request) -> tuple[bytes, list[bytes]]:
    return orjson.dumps(request.body["tools"]), [orjson.dumps(message) for message in request.messages]


async def test_the_prefix_stays_the_same_to_the_byte_over_a_hundred_steps(
    conversations: Conversations, monkeypatch
):
    def answer(request: Request):
        step = len(conversations.llm.requests)
        if step > STEPS:
            return call("finish", message="Done.")
        if step % 10 == 0:
            return call(
                "file_editor", command="create", path=f"{conversations.workspace}/{step}", file_text="x"
            )
        return calls(("think", {"thought": str(step)}), ("grep", {"pattern": "x"}))

    conversations.llm.fallback = answer
    (conversations.workspace).mkdir(exist_ok=True)
    conversation = conversations.create(tools=["terminal", "file_editor", "grep", "task_tracker"])
    conversation.send(user("Work."))
    # Changes of the project during the conversation do not change the system prompt.
    (conversations.workspace / "Makefile").write_text("test:\n")
    await conversation.run()
    await conversation.close()
    again = conversations.reopen()
    again.send(user("Once more."))
    await again.run()

    requests = conversations.llm.requests
    assert len(requests) == STEPS + 2
    for before, after in pairwise(requests):
        (tools, messages), (next_tools, next_messages) = encoded(before), encoded(after)
        assert next_tools == tools
        assert next_messages[: len(messages)] == messages
    prompt = of_kind(again, "SystemPromptEvent")[0]["system_prompt"]["text"]
    today = surroundings_module.surroundings(conversations.workspace).date
    assert f"- Date: {today} (UTC)" in prompt
    assert "make test" not in prompt


async def test_an_agent_with_a_custom_prompt_is_not_told_about_its_surroundings(conversations: Conversations):
    conversation = conversations.create(agent={"system_prompt": "Sing."})
    conversation.send(user("Go."))
    assert of_kind(conversation, "SystemPromptEvent")[0]["system_prompt"]["text"] == "Sing."
