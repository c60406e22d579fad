"""Tests of model calls through litellm. A scripted server on this machine speaks Anthropic's protocol."""

import pytest

from tests.agent_runtime.conversation.conftest import Conversations, Watch, kinds_of, of_kind, user
from tests.support.scripted_llm import ScriptedLLM, calls, cut, fail, hang, say

# litellm's types cause warnings of pydantic when they are first used.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Item .* is using the `ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

THINKING = {"type": "thinking", "thinking": "Let me think.", "signature": "c2lnbmVk"}


def claude(llm: ScriptedLLM) -> dict[str, str]:
    root = llm.base_url.removesuffix("/v1")
    return {"model": "anthropic/claude-sonnet-4-5", "base_url": root}


@pytest.mark.parametrize("stream", [False, True])
async def test_a_conversation_with_claude_keeps_its_signed_thinking(
    stream: bool, conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(
        calls(("think", {"thought": "x"}), thought="Well.", thinking_blocks=(THINKING,), cached_tokens=40),
        fail(529, error="overloaded"),
        say("Done."),
    )
    conversation = conversations.create(llm={**claude(scripted_llm), "stream": stream})
    conversation.send(user("Go."))

    await conversation.run()

    (action,) = of_kind(conversation, "ActionEvent")
    assert action["thinking_blocks"] == [THINKING]
    assert action["reasoning_content"] == "Let me think."
    assert conversation.state.final_response == "Done."
    first, _, last = (request.body for request in scripted_llm.requests)
    assert scripted_llm.requests[0].headers["x-api-key"] == scripted_llm.api_key
    assert first["model"] == "claude-sonnet-4-5"
    assert first["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert last["messages"][1]["content"][0] == THINKING
    assert last["messages"][2]["content"][0]["cache_control"] == {"type": "ephemeral"}
    metrics = conversation.info().stats["usage_to_metrics"]["agent"]
    assert metrics["accumulated_token_usage"]["cache_read_tokens"] == 40
    assert metrics["accumulated_token_usage"]["prompt_tokens"] == 200
    assert metrics["accumulated_cost"] > 0


async def test_its_reasoning_and_its_words_are_published_as_they_come(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("All done here.", thinking_blocks=(THINKING,)))
    conversation = conversations.create(llm=claude(scripted_llm))
    watch = Watch(conversation)
    conversation.send(user("Go."))

    await conversation.run()

    said = {"text": "", "reasoning": ""}
    pieces = watch.of_type("delta")
    for piece in pieces:
        said[piece["kind"]] += piece["content"]
    assert said == {"text": "All done here.", "reasoning": "Let me think."}
    assert len(pieces) >= 4
    (message,) = [e for e in of_kind(conversation, "MessageEvent") if e["source"] == "agent"]
    assert message["id"] == pieces[0]["item_id"]


async def test_a_stream_that_breaks_off_is_asked_for_again(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(cut(say("Half of a sentence"), after=3), say("All of it."))
    conversation = conversations.create(llm=claude(scripted_llm))
    conversation.send(user("Go."))

    await conversation.run()

    assert conversation.state.final_response == "All of it."


@pytest.mark.parametrize("stream", [False, True])
async def test_interrupting_it_hangs_up(
    stream: bool, conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(hang())
    conversation = conversations.create(llm={**claude(scripted_llm), "stream": stream})
    conversation.send(user("Go."))
    conversation.start()
    await scripted_llm.wait_for_requests(1)

    await conversation.interrupt()

    await scripted_llm.wait_until(lambda: scripted_llm.cancelled == 1)
    assert kinds_of(conversation)[-1] == "InterruptEvent"


async def test_its_refusals_are_classified(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(fail(401, error=f"invalid x-api-key {scripted_llm.api_key}"))
    conversation = conversations.create(llm=claude(scripted_llm))
    conversation.send(user("Go."))

    await conversation.run()

    (error,) = of_kind(conversation, "ConversationErrorEvent")
    assert error["code"] == "LLMAuthenticationError"
    assert scripted_llm.api_key not in error["detail"]


async def test_it_is_asked_again_when_the_vendor_says(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(fail(429, retry_after=0.3), say("Done."))
    conversation = conversations.create(llm={**claude(scripted_llm), "retry_min_wait": 60})
    watch = Watch(conversation)
    conversation.send(user("Go."))

    await conversation.run()

    assert watch.of_type("item_aborted")[0]["retry"]["wait_seconds"] == 0.3
    assert conversation.state.final_response == "Done."


async def test_azure_is_asked_under_its_own_address_and_version(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("Done."))
    root = scripted_llm.base_url.removesuffix("/v1")
    conversation = conversations.create(
        llm={"model": "azure/our-gpt", "base_url": root, "api_version": "2026-01-01"}
    )
    conversation.send(user("Go."))

    await conversation.run()

    assert conversation.state.final_response == "Done."
    (request,) = scripted_llm.requests
    assert request.path == "/openai/deployments/our-gpt/chat/completions?api-version=2026-01-01"
    assert request.headers["api-key"] == scripted_llm.api_key
