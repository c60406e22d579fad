"""Tests of the gateway with vendors that have other protocols: the vendors' own types accept its requests,
and OpenAI's package reads its replies.
"""

from typing import Any

import orjson
import pytest
from fastapi import Response
from fastapi.responses import StreamingResponse
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from app_server.llm_gateway.forwarding.translate import translate
from app_server.llm_gateway.forwarding.vendors import Translated
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, calls, say
from tests.support.vendor_types import accept

# litellm's own code raises the warnings.
pytestmark = pytest.mark.filterwarnings("ignore")

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SIGNED: Any = {"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk"}
SIGNATURE = "c2lnbmF0dXJl" * 10
CACHED = {"type": "ephemeral"}
CLAUDE_AT_BEDROCK = "bedrock/converse/anthropic.claude-sonnet-4-5-20250929-v1:0"
TOOL = {
    "type": "function",
    "function": {
        "name": "think",
        "description": "Thinks.",
        "parameters": {
            "type": "object",
            "properties": {
                "thought": {"type": "string"},
                "depth": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            },
            "required": ["thought"],
        },
    },
}
QUESTION: list[dict[str, Any]] = [
    {"role": "system", "content": [{"type": "text", "text": "Be brief.", "cache_control": CACHED}]},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "Look at it."},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        ],
    },
]


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("REGION", "us-east-1"), ("ACCESS_KEY_ID", "a"), ("SECRET_ACCESS_KEY", "b")):
        monkeypatch.setenv(f"AWS_{name}", value)


async def ask(url: str, model: str, messages: list[dict[str, Any]], *, stream: bool) -> dict[str, Any]:
    """Sends the messages to the model. Returns the message of the reply, as OpenAI's package reads it."""
    options = {"stream_options": {"include_usage": True}} if stream else {}
    body = {"messages": messages, "tools": [TOOL], "max_tokens": 2000, "stream": stream, **options}
    reply = await translate(
        Translated(model, url.removesuffix("/v1")),
        body,
        api_key=None if "bedrock" in model else "k",
        timeout_seconds=PATIENCE_SECONDS,
    )
    assert reply.status_code == 200, bytes(reply.body)
    return (await _read(reply)).model_dump(exclude_none=True)


async def _read(reply: Response) -> Any:
    if not isinstance(reply, StreamingResponse):
        completion = ChatCompletion.model_validate_json(bytes(reply.body))
        assert completion.usage is not None
        assert completion.usage.prompt_tokens == 100
        return completion.choices[0].message
    read = ChatCompletionStreamState()
    async for event in reply.body_iterator:
        data = bytes(event).removeprefix(b"data: ").strip()
        if data != b"[DONE]":
            read.handle_chunk(ChatCompletionChunk.model_validate(orjson.loads(data)))
    message = read.get_final_completion().choices[0].message
    assert data == b"[DONE]"
    return message


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("anthropic/claude-sonnet-4-5", "/messages"),
        ("gemini/gemini-3-pro-preview", "enerateContent"),
        (CLAUDE_AT_BEDROCK, "/converse"),
        ("azure/our-gpt", "/chat/completions"),
    ],
)
async def test_tools_images_thinking_and_parallel_calls_are_accepted(
    model: str, path: str, stream: bool, monkeypatch: pytest.MonkeyPatch, scripted_llm: ScriptedLLM
) -> None:
    is_claude = "claude" in model
    asked = calls(
        ("think", {"thought": "x"}),
        ("think", {"thought": "y"}),
        thought="Well.",
        thinking_blocks=(SIGNED,) if is_claude else (),
        signature=SIGNATURE if model.startswith("gemini") else "",
    )
    scripted_llm.script(asked, say("Done."))
    monkeypatch.setenv("AZURE_API_VERSION", "2026-01-01")

    said = await ask(scripted_llm.base_url, model, QUESTION, stream=stream)
    results = [
        {"role": "tool", "tool_call_id": called["id"], "content": "ok", "cache_control": CACHED}
        for called in said["tool_calls"]
    ]
    last = await ask(scripted_llm.base_url, model, [*QUESTION, said, *results], stream=stream)

    assert said["content"] == "Well."
    assert [orjson.loads(called["function"]["arguments"]) for called in said["tool_calls"]] == [
        {"thought": "x"},
        {"thought": "y"},
    ]
    assert last["content"] == "Done."
    for request in scripted_llm.requests:
        assert path in request.path
        accept(request.route, request.body)
    second = str(scripted_llm.requests[1].body)
    assert is_claude == ("cachePoint" in second or "cache_control" in second)
    assert PIXEL in second
    assert (SIGNATURE in second) == model.startswith("gemini")
    assert ("c2lnbmVk" in second) == is_claude
