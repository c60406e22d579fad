"""Checks the engine's requests and its reading of replies with the types in the vendors' own packages."""

from typing import Any

import pytest

from agent_runtime.conversation.model_switch import switch_llm
from agent_runtime.events.message import Message
from tests.agent_runtime.conversation.conftest import Conversations, of_kind, user
from tests.support.scripted_llm import ScriptedLLM, Turn, calls, say
from tests.support.vendor_types import accept

# litellm's types cause warnings of pydantic when they are first used.
pytestmark = pytest.mark.filterwarnings("ignore")

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SHOWN: Any = [
    {"type": "text", "text": "Look at it."},
    {"type": "image", "image_urls": [f"data:image/png;base64,{PIXEL}"]},
]
SIGNED: Any = {"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk"}
SIGNATURE = "c2lnbmF0dXJl" * 10
CLAUDE_AT_BEDROCK = "bedrock/converse/anthropic.claude-sonnet-4-5-20250929-v1:0"

OF_MODEL = {
    "openai/gpt-4.1": "/v1/chat/completions",
    "openai/gpt-5-pro": "/v1/responses",
    "anthropic/claude-sonnet-4-5": "/v1/messages",
    "gemini/gemini-3-pro-preview": "enerateContent",
    CLAUDE_AT_BEDROCK: "/converse",
    "azure/our-gpt": "/chat/completions",
    "openrouter/anthropic/claude-sonnet-4.5": "/v1/chat/completions",
    "deepseek/deepseek-reasoner": "/v1/chat/completions",
    "ollama/qwen3": "/v1/chat/completions",
    "hosted_vllm/qwen3": "/v1/chat/completions",
}
"""For each model, a part of the path of the URL to which its requests go."""
SEES_IMAGES = OF_MODEL.keys() - {"deepseek/deepseek-reasoner", "azure/our-gpt"}
FOR_COMPATIBLE = frozenset({"reasoning"})
"""Fields that OpenRouter accepts and OpenAI does not."""


def model(name: str, url: str, *, stream: bool) -> dict[str, Any]:
    """Returns the configuration of the model `name` for a scripted server at `url` that speaks the vendor's
    protocol.
    """
    root = url.removesuffix("/v1")
    is_compatible = OF_MODEL[name].startswith("/v1/") and not name.startswith("anthropic/")
    return {
        "model": name,
        "base_url": url if is_compatible else root,
        "api_mode": "responses" if OF_MODEL[name].endswith("/responses") else "auto",
        "api_version": "2026-01-01" if name.startswith("azure/") else None,
        "aws_access_key_id": "a" if name.startswith("bedrock/") else None,
        "aws_secret_access_key": "b" if name.startswith("bedrock/") else None,
        "aws_region_name": "us-east-1" if name.startswith("bedrock/") else None,
        "stream": stream,
        "max_output_tokens": 2000,
        "capability_overrides": {"supports_vision": True} if name in SEES_IMAGES else {},
    }


def parallel_calls(name: str) -> Turn:
    """Returns a reply with two calls and with all extra fields that this model returns and needs back."""
    signs = name.startswith(("anthropic/", "bedrock/"))
    return calls(
        ("think", {"thought": "x"}),
        ("think", {"thought": "y"}),
        thought="Well.",
        reasoning="Let me see.",
        encrypted_reasoning="aGlkZGVu" if OF_MODEL[name].endswith("/responses") else "",
        thinking_blocks=(SIGNED,) if signs else (),
        signature=SIGNATURE if name.startswith("gemini/") else "",
        cached_tokens=40,
    )


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", OF_MODEL)
async def test_tools_images_reasoning_and_parallel_calls_are_accepted(
    name: str, stream: bool, conversations: Conversations, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(parallel_calls(name), say("Done."))
    conversation = conversations.create(llm=model(name, scripted_llm.base_url, stream=stream))
    conversation.send(Message.model_validate({"role": "user", "content": SHOWN}))

    await conversation.run()

    assert conversation.state.final_response == "Done."
    assert len(of_kind(conversation, "ActionEvent")) == 2
    assert all(OF_MODEL[name] in request.path for request in scripted_llm.requests)
    for request in scripted_llm.requests:
        accept(request.route, request.body, further=FOR_COMPATIBLE)
    second = str(scripted_llm.requests[1].body)
    assert (PIXEL in second) == (name in SEES_IMAGES)
    assert (SIGNATURE in second) == name.startswith("gemini/")
    assert ("c2lnbmVk" in second) == name.startswith(("anthropic/", "bedrock/"))
    usage = conversation.info().stats["usage_to_metrics"]["agent"]["accumulated_token_usage"]
    assert (usage["prompt_tokens"], usage["cache_read_tokens"]) == (200, 40)


@pytest.mark.parametrize("stream", [False, True])
async def test_each_vendor_accepts_a_history_of_all_the_others(
    stream: bool, conversations: Conversations, scripted_llm: ScriptedLLM
) -> None:
    names = [*OF_MODEL, *reversed(OF_MODEL)]
    for name in names:
        scripted_llm.script(parallel_calls(name), say("Done."))
    conversation = conversations.create(llm=model(names[0], scripted_llm.base_url, stream=stream))
    for name in names:
        fields = model(name, scripted_llm.base_url, stream=stream)
        changed = conversation.agent.llm.model_validate(
            {**conversation.agent.llm.model_dump(context={"expose_secrets": "plaintext"}), **fields}
        )
        switch_llm(conversation, changed)
        conversation.send(user("Go on."))

        await conversation.run()

        assert conversation.state.final_response == "Done.", name
        for request in scripted_llm.requests[-2:]:
            assert OF_MODEL[name] in request.path
            accept(request.route, request.body, further=FOR_COMPATIBLE)
    assert len(of_kind(conversation, "ActionEvent")) == 2 * len(names)
