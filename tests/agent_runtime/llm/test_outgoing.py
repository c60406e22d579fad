"""Tests of which parts of earlier replies and results are sent to the model again."""

import base64
import json
from typing import Any

import pytest

from agent_runtime.events.content import ImageContent, TextContent
from agent_runtime.events.message import Message
from tests.agent_runtime.conversation.conftest import Conversations, of_kind, user
from tests.support.scripted_llm import ScriptedLLM, call, calls, say

PIXEL = "data:image/png;base64,iVBORw0KGgo="
THINKING = {"type": "thinking", "thinking": "Let me think.", "signature": "c2lnbmVk"}
REDACTED = {"type": "redacted_thinking", "data": "aGlkZGVu"}


def picture() -> Message:
    return Message(role="user", content=[TextContent(text="See?"), ImageContent(image_urls=[PIXEL])])


async def two_turns(conversations: Conversations, llm: ScriptedLLM, **fields: Any) -> list[dict[str, Any]]:
    """Runs a turn whose first reply has reasoning and thinking blocks. Returns the messages of the second
    request. fields: of the model.
    """
    llm.script(
        calls(("think", {"thought": "x"}), reasoning="Because.", thinking_blocks=(THINKING, REDACTED)),
        say("done"),
    )
    conversation = conversations.create(llm=fields)
    conversation.send(user("Go."))
    await conversation.run()
    (action,) = of_kind(conversation, "ActionEvent")
    assert action["thinking_blocks"] == [THINKING, REDACTED]
    assert action["reasoning_content"] == "Because."
    return llm.requests[1].messages


@pytest.mark.parametrize("stream", [True, False])
async def test_signed_thinking_goes_back_as_it_came(
    conversations: Conversations, scripted_llm: ScriptedLLM, stream: bool
):
    messages = await two_turns(
        conversations, scripted_llm, model="litellm_proxy/claude-sonnet-4-5", stream=stream
    )

    assert messages[2]["thinking_blocks"] == [THINKING, REDACTED]
    assert "reasoning_content" not in messages[2]


async def test_other_models_are_spared_it(conversations: Conversations, scripted_llm: ScriptedLLM):
    messages = await two_turns(conversations, scripted_llm, model="openai/gpt-4.1")

    assert set(messages[2]) == {"role", "content", "tool_calls"}


async def test_open_reasoning_is_sent_back_to_models_that_need_it(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    messages = await two_turns(conversations, scripted_llm, model="openai/kimi-k2-thinking")

    assert messages[2]["reasoning_content"] == "Because."
    assert "thinking_blocks" not in messages[2]


async def test_a_streamed_thinking_block_is_put_together(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    pieces = (
        {"type": "thinking", "thinking": "Let me "},
        {"type": "thinking", "thinking": "think."},
        {"type": "thinking", "thinking": "", "signature": "c2lnbmVk"},
    )
    scripted_llm.script(say("Well.", thinking_blocks=pieces))
    conversation = conversations.create()
    conversation.send(user("Go."))

    await conversation.run()

    assert of_kind(conversation, "MessageEvent")[1]["llm_message"]["thinking_blocks"] == [THINKING]


async def test_what_may_be_cached_is_marked_where_the_vendor_asks_so(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    messages = await two_turns(conversations, scripted_llm, model="openrouter/anthropic/claude-sonnet-4.5")
    first = scripted_llm.requests[0].messages

    mark = {"type": "ephemeral"}
    assert [message["content"][-1]["cache_control"] for message in first] == [mark, mark]
    assert messages[0]["content"][-1]["cache_control"] == mark
    assert messages[-1]["role"] == "tool"
    assert messages[-1]["content"][-1]["cache_control"] == mark
    assert "cache_control" not in json.dumps(messages[1:-1])


@pytest.mark.parametrize(
    "fields", [{"model": "openai/gpt-5"}, {"model": "x/claude", "caching_prompt": False}]
)
async def test_nothing_is_marked_elsewhere(
    conversations: Conversations, scripted_llm: ScriptedLLM, fields: dict[str, Any]
):
    messages = await two_turns(conversations, scripted_llm, **fields)

    assert "cache_control" not in json.dumps(messages)


@pytest.mark.parametrize(
    ("fields", "is_sent"),
    [
        ({"model": "openai/gpt-4o"}, True),
        ({"model": "openai/claude-sonnet-4-5"}, True),
        ({"model": "openai/qwen2.5-vl-72b"}, True),
        ({"model": "openai/gpt-4o", "disable_vision": True}, False),
        ({"model": "openai/deepseek-chat"}, False),
        ({"model": "openai/local", "capability_overrides": {"supports_vision": True}}, True),
        ({"model": "openai/local", "model_canonical_name": "gpt-4o"}, True),
        ({"model": "openai/gpt-4o", "api_mode": "responses"}, True),
        ({"model": "openai/local", "api_mode": "responses"}, False),
    ],
)
async def test_images_are_sent_to_models_that_see(
    conversations: Conversations, scripted_llm: ScriptedLLM, fields: dict[str, Any], is_sent: bool
):
    scripted_llm.script(say("I see."))
    conversation = conversations.create(llm=fields)
    conversation.send(picture())

    await conversation.run()

    sent = json.dumps(scripted_llm.requests[0].body)
    assert (PIXEL in sent) is is_sent
    assert ("cannot see images" in sent) is not is_sent


@pytest.mark.parametrize(("model", "is_sent"), [("openai/gpt-4o", True), ("openai/deepseek-chat", False)])
async def test_an_image_that_a_tool_shows_is_sent_to_models_that_see_and_explained_to_others(
    conversations: Conversations, scripted_llm: ScriptedLLM, model: str, is_sent: bool
):
    scripted_llm.script(call("view_image", path="x.png"), say("I see."))
    conversation = conversations.create(llm={"model": model}, tools=["view_image"])
    (conversations.workspace / "x.png").write_bytes(base64.b64decode(PIXEL.partition(",")[2]))
    conversation.send(Message.of("user", "Look at x.png."))

    await conversation.run()

    sent = json.dumps(scripted_llm.requests[1].body)
    assert (PIXEL in sent) is is_sent
    assert ("An image was left out" in sent) is not is_sent
