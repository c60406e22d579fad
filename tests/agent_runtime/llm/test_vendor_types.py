"""What the engine sends is what the vendors' own packages could have sent."""

from typing import Any

import pytest

from agent_runtime.events.message import Message
from tests.agent_runtime.conversation.conftest import Conversations
from tests.support.scripted_llm import ScriptedLLM, calls, say
from tests.support.vendor_types import accept

# What litellm does with its own types makes pydantic warn, at their first use.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Item .* is using the `ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SHOWN: Any = [
    {"type": "text", "text": "Look at it."},
    {"type": "image", "image_urls": [f"data:image/png;base64,{PIXEL}"]},
]
SIGNED: Any = {"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk"}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("openai/gpt-4.1", "/v1/chat/completions"),
        ("openai/gpt-5-pro", "/v1/responses"),
        ("anthropic/claude-sonnet-4-5", "/v1/messages"),
    ],
)
async def test_tools_images_reasoning_and_parallel_calls_are_accepted(
    model: str, path: str, stream: bool, conversations: Conversations, scripted_llm: ScriptedLLM
) -> None:
    asked = calls(
        ("think", {"thought": "x"}),
        ("think", {"thought": "y"}),
        thought="Well.",
        reasoning="Let me see.",
        encrypted_reasoning="aGlkZGVu" if path.endswith("/responses") else "",
        thinking_blocks=(SIGNED,) if path.endswith("/messages") else (),
    )
    scripted_llm.script(asked, say("Done."))
    url = scripted_llm.base_url
    root = url.removesuffix("/v1") if model.startswith("anthropic/") else url
    mode = "responses" if path.endswith("/responses") else "auto"
    llm = {"model": model, "api_mode": mode, "base_url": root, "stream": stream, "max_output_tokens": 2000}
    conversation = conversations.create(llm=llm)
    conversation.send(Message.model_validate({"role": "user", "content": SHOWN}))

    await conversation.run()

    assert conversation.state.final_response == "Done."
    assert [request.path for request in scripted_llm.requests] == [path, path]
    for request in scripted_llm.requests:
        accept(path, request.body)
    assert PIXEL in str(scripted_llm.requests[1].body)
