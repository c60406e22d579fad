"""A vendor with a protocol of its own, through litellm: Anthropic's, played on loopback."""

from tests.agent_runtime.conversation.conftest import Conversations, of_kind, user
from tests.support.scripted_llm import ScriptedLLM, calls, fail, say

THINKING = {"type": "thinking", "thinking": "Let me think.", "signature": "c2lnbmVk"}


async def test_a_conversation_with_claude_keeps_its_signed_thinking(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(
        calls(("think", {"thought": "x"}), thought="Well.", thinking_blocks=(THINKING,), cached_tokens=40),
        fail(529, error="overloaded"),
        say("Done."),
    )
    root = scripted_llm.base_url.removesuffix("/v1")
    conversation = conversations.create(llm={"model": "anthropic/claude-sonnet-4-5", "base_url": root})
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


async def test_its_refusals_are_classified(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(fail(401, error=f"invalid x-api-key {scripted_llm.api_key}"))
    root = scripted_llm.base_url.removesuffix("/v1")
    conversation = conversations.create(llm={"model": "anthropic/claude-sonnet-4-5", "base_url": root})
    conversation.send(user("Go."))

    await conversation.run()

    (error,) = of_kind(conversation, "ConversationErrorEvent")
    assert error["code"] == "LLMAuthenticationError"
    assert scripted_llm.api_key not in error["detail"]


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
