"""Tests of data that Gemini and Claude return for their own use, such as signatures: the gateway passes it
on in both directions.
"""

import json
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app_server.core.errors import BadRequest
from app_server.llm_gateway.forwarding.contents import without_addresses
from app_server.llm_gateway.forwarding.translate import translate
from app_server.llm_gateway.forwarding.vendors import Translated
from tests.app_server.conftest import listening
from tests.support.patience import PATIENCE_SECONDS

SIGNATURE = "c2lnbmF0dXJl" * 10
TOOL = {
    "type": "function",
    "function": {"name": "think", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}},
}
QUESTION: dict[str, Any] = {"role": "user", "content": "Go."}

# litellm's own code raises the warnings, not the product's code.
pytestmark = pytest.mark.filterwarnings("ignore")


class Gemini:
    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []

    async def answer(self, request: Request) -> Response:
        self.heard.append(await request.json())
        part = {"functionCall": {"name": "think", "args": {"a": "b"}}, "thoughtSignature": SIGNATURE}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7}
        return JSONResponse({"candidates": [candidate], "usageMetadata": usage})


async def test_a_signature_of_gemini_comes_back_to_it() -> None:
    gemini = Gemini()

    async def ask(*messages: dict[str, Any]) -> dict[str, Any]:
        vendor = Translated("gemini/gemini-3-pro-preview", url)
        body = {"messages": [QUESTION, *messages], "tools": [TOOL]}
        reply = await translate(vendor, body, api_key="k", timeout_seconds=PATIENCE_SECONDS)
        message: dict[str, Any] = json.loads(bytes(reply.body))["choices"][0]["message"]
        return message

    app = Starlette(routes=[Route("/{path:path}", gemini.answer, methods=["POST"])])
    async with listening(app) as url:
        said = await ask()
        (called,) = said["tool_calls"]
        result = {"role": "tool", "tool_call_id": called["id"], "name": "think", "content": "ok"}
        await ask({"role": "assistant", "content": None, "tool_calls": [called]}, result)

    assert called["provider_specific_fields"] == {"thought_signature": SIGNATURE}
    (part,) = gemini.heard[1]["contents"][1]["parts"]
    assert part.get("thoughtSignature", part.get("thought_signature")) == SIGNATURE


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"tool_calls": [{"id": "1", "function": {"name": "x"}, "api_base": "http://evil"}]}, "api_base"),
        ({"tool_calls": [{"id": "1", "function": {"name": "x", "url": "http://evil"}}]}, "function.url"),
        ({"tool_calls": {"id": "1"}}, "tool_calls"),
        ({"thinking_blocks": [{"type": "thinking", "url": "http://evil"}]}, "thinking_blocks.0.url"),
        ({"provider_specific_fields": {"file_uri": "http://evil"}}, "provider_specific_fields.file_uri"),
        ({"extra_content": "x"}, "extra_content"),
        ({"reasoning_details": "x"}, "reasoning_details"),
    ],
)
def test_a_state_has_known_places_and_types(message: dict[str, Any], field: str) -> None:
    with pytest.raises(BadRequest) as refused:
        without_addresses([{"role": "assistant", **message}])

    assert refused.value.code == "unknown_model_field"
    assert field in refused.value.detail


def test_states_of_all_vendors_pass() -> None:
    message = {
        "role": "assistant",
        "content": None,
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}],
        "thinking_blocks": [{"type": "thinking", "thinking": "x", "signature": "y"}],
        "provider_specific_fields": {"thought_signatures": [SIGNATURE]},
        "tool_calls": [
            {
                "id": f"call_1__thought__{SIGNATURE}",
                "type": "function",
                "function": {"name": "x", "arguments": "{}"},
                "extra_content": {"google": {"thought_signature": SIGNATURE}},
                "provider_specific_fields": {"thought_signature": SIGNATURE},
            }
        ],
    }

    assert without_addresses([message]) == [message]
