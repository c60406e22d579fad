"""Tests of errors of vendors: the gateway passes on the status, the reason and the requested waiting time,
also for a streamed reply. If a stream fails later, its last event has the reason.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from app_server.llm_gateway.forwarding.added_fields import Additions
from app_server.llm_gateway.forwarding.pass_through import pass_through
from app_server.llm_gateway.forwarding.translate import translate
from app_server.llm_gateway.forwarding.vendors import PassThrough, Translated, vendor_of
from tests.app_server.conftest import listening
from tests.support.patience import PATIENCE_SECONDS
from tests.support.plain_http import NO_TLS

KEY = "sk-canary-77aa"

# litellm's own code raises the warnings.
pytestmark = pytest.mark.filterwarnings("ignore")

OPENAI = {"error": {"message": f"slow down, {KEY}", "code": "rate_limit_exceeded"}}
ANTHROPIC = {"type": "error", "error": {"type": "rate_limit_error", "message": f"slow down, {KEY}"}}
GOOGLE = {
    "error": {
        "code": 429,
        "message": f"slow down, {KEY}",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "53.4s"}],
    }
}


@pytest.fixture(autouse=True)
def region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")


def refusing(body: dict[str, Any], headers: dict[str, str]) -> Starlette:
    async def refuse(_: Request) -> Response:
        return JSONResponse(body, 429, headers=headers)

    return Starlette(routes=[Route("/{path:path}", refuse, methods=["POST"])])


async def ask(url: str, model: str, *, stream: bool) -> Response:
    body = {"messages": [{"role": "user", "content": "hello"}], "stream": stream}
    vendor = vendor_of(model, url)
    if isinstance(vendor, Translated):
        return await translate(vendor, body, api_key=KEY, timeout_seconds=PATIENCE_SECONDS)
    assert isinstance(vendor, PassThrough)
    added = Additions(KEY, PATIENCE_SECONDS)
    async with httpx.AsyncClient(verify=NO_TLS) as http:
        return await pass_through(http, vendor, body, added=added, headers={}, path="/chat/completions")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("header", [("retry-after", "7"), ("retry-after-ms", "7000")])
@pytest.mark.parametrize(
    ("model", "body"),
    [
        ("openai/gpt-5", OPENAI),
        ("openrouter/openai/gpt-5", OPENAI),
        ("deepseek/deepseek-chat", OPENAI),
        ("ollama/llama3", OPENAI),
        ("ollama_chat/llama3", OPENAI),
        ("hosted_vllm/x", OPENAI),
        ("anthropic/claude-sonnet-4-5", ANTHROPIC),
        ("azure/gpt-5", OPENAI),
        ("gemini/gemini-2.5-pro", GOOGLE),
        ("bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0", {"message": f"slow down, {KEY}"}),
    ],
)
async def test_a_refusal_keeps_its_status_and_its_wait(
    model: str, body: dict[str, Any], header: tuple[str, str], stream: bool
) -> None:
    async with listening(refusing(body, dict([header]))) as url:
        reply = await ask(url, model, stream=stream)
    assert reply.status_code == 429
    assert reply.headers[header[0]] == header[1]
    assert "slow down" in bytes(reply.body).decode()
    assert KEY not in bytes(reply.body).decode()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("headers", [{}, {"retry-after": "soon"}])
async def test_a_wait_that_google_states_in_the_body_becomes_a_header(
    headers: dict[str, str], stream: bool
) -> None:
    async with listening(refusing(GOOGLE, headers)) as url:
        reply = await ask(url, "gemini/gemini-2.5-pro", stream=stream)
    assert (reply.status_code, reply.headers["retry-after"]) == (429, "54")


ANTHROPIC_PIECES = [
    {
        "type": "message_start",
        "message": {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "x",
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 3, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "good "}},
]
OPENAI_PIECES = [
    {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "x",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": "good "}}],
    }
]
GOOGLE_PIECES = [{"candidates": [{"content": {"parts": [{"text": "good "}], "role": "model"}}]}]
OVERLOADED = {"error": {"code": 503, "message": f"overloaded, {KEY}", "status": "UNAVAILABLE"}}


@pytest.mark.parametrize("does_close", [False, True])
@pytest.mark.parametrize(
    ("model", "pieces", "failure"),
    [
        (
            "anthropic/claude-sonnet-4-5",
            ANTHROPIC_PIECES,
            {"type": "error", "error": {"type": "overloaded_error", "message": f"overloaded, {KEY}"}},
        ),
        ("azure/gpt-5", OPENAI_PIECES, OVERLOADED),
        ("gemini/gemini-2.5-pro", GOOGLE_PIECES, OVERLOADED),
    ],
)
async def test_a_stream_that_fails_after_its_first_piece_ends_with_the_reason(
    model: str, pieces: list[dict[str, Any]], failure: dict[str, Any], does_close: bool
) -> None:
    async def events() -> AsyncIterator[str]:
        for piece in pieces if does_close else [*pieces, failure]:
            yield f"data: {json.dumps(piece)}\n\n"

    async def answer(_: Request) -> Response:
        headers = {"content-length": "100000"} if does_close else {}
        return StreamingResponse(events(), headers=headers, media_type="text/event-stream")

    async with listening(Starlette(routes=[Route("/{path:path}", answer, methods=["POST"])])) as url:
        reply = await ask(url, model, stream=True)
        assert isinstance(reply, StreamingResponse)
        lines = [bytes(event).decode() async for event in reply.body_iterator]  # type: ignore[arg-type]
    assert "good " in lines[0]
    reason = json.loads(lines[-1].removeprefix("data: "))["error"]
    assert ("overloaded" in reason["message"]) is not does_close
    assert KEY not in lines[-1]
    assert "Traceback" not in lines[-1]
    assert reason["code"] in {500, 503}
