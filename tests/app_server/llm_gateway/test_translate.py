"""Tests of vendors with another protocol than OpenAI's: litellm converts the calls. The vendor on loopback
uses Anthropic's protocol.
"""

import json

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app_server.core.addresses import parse_named
from app_server.core.errors import BadGateway
from app_server.http.guarded_client import Guard
from app_server.llm_gateway.forwarding.translate import translate
from app_server.llm_gateway.forwarding.vendors import Translated
from tests.app_server.conftest import listening
from tests.support.outside import Dns
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port

KEY = "sk-canary-77aa"
ASK = {"model": "ignored", "messages": [{"role": "user", "content": "hello"}]}

# litellm's own code raises the warnings, not the product's code.
pytestmark = pytest.mark.filterwarnings("ignore")


async def _messages(request: Request) -> Response:
    body = await request.json()
    assert request.headers["x-api-key"] == KEY
    if body["messages"][0]["content"][0]["text"] == "refuse":
        error = {"type": "rate_limit_error", "message": f"slow down, {KEY}"}
        return JSONResponse({"type": "error", "error": error}, 429, headers={"Retry-After": "7"})
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "text", "text": "good day"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    return (
        Response(_events(message), media_type="text/event-stream")
        if body.get("stream")
        else JSONResponse(message)
    )


def _events(message: dict[str, object]) -> str:
    events = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "good "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "day"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


VENDOR = Starlette(routes=[Route("/v1/messages", _messages, methods=["POST"])])


async def _ask(url: str, **body: object) -> Response:
    vendor = Translated("anthropic/claude-sonnet-4-5", url)
    return await translate(vendor, {**ASK, **body}, api_key=KEY, timeout_seconds=PATIENCE_SECONDS)


async def test_a_reply_comes_back_in_our_protocol() -> None:
    async with listening(VENDOR) as url:
        reply = await _ask(url)
    message = json.loads(bytes(reply.body))["choices"][0]["message"]
    assert (message["role"], message["content"]) == ("assistant", "good day")


async def test_a_stream_comes_back_in_our_protocol() -> None:
    async def app(scope: object, receive: object, send: object) -> None:
        reply = await _ask(url, stream=True)
        await reply(scope, receive, send)  # type: ignore[arg-type]

    gateway = httpx.AsyncClient(transport=httpx.ASGITransport(app))  # type: ignore[arg-type]
    async with listening(VENDOR) as url, gateway:
        text = (await gateway.post("http://gateway/")).text
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line]
    assert lines[-1] == "[DONE]"
    choices = [choice for line in lines[:-1] for choice in json.loads(line)["choices"]]
    assert "".join(choice["delta"].get("content") or "" for choice in choices) == "good day"
    assert choices[-1]["finish_reason"] == "stop"


async def test_a_refusal_keeps_its_status_and_loses_our_key() -> None:
    async with listening(VENDOR) as url:
        reply = await _ask(url, messages=[{"role": "user", "content": "refuse"}])
    assert reply.status_code == 429
    assert reply.headers["retry-after"] == "7"
    assert KEY not in bytes(reply.body).decode()
    assert "slow down" in json.loads(bytes(reply.body))["error"]["message"]


async def test_an_address_where_nothing_answers_is_named() -> None:
    with pytest.raises(BadGateway) as failed:
        await _ask(f"http://127.0.0.1:{free_port()}")
    assert failed.value.code == "llm_vendor_unreachable"
    assert "127.0.0.1" in failed.value.detail


async def test_an_unknown_model_is_refused() -> None:
    reply = await translate(
        Translated("no-such-model", None), ASK, api_key=None, timeout_seconds=PATIENCE_SECONDS
    )
    assert reply.status_code == 400
    assert "no-such-model" in json.loads(bytes(reply.body))["error"]["message"]


@pytest.mark.parametrize("model", ["anthropic/claude-sonnet-4-5", "azure/gpt-5"])
async def test_a_member_reaches_the_address_that_was_judged_and_no_other(model: str) -> None:
    dns = Dns({"models.test": [["127.0.0.1"], ["10.0.0.1"]]})
    guard = Guard(parse_named(["127.0.0.1"]), dns.resolve)
    asked: list[str] = []

    async def vendor(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(scope["path"])
        await VENDOR(scope, receive, send)

    async def ask() -> Response:
        named = Translated(model, url.replace("127.0.0.1", "models.test"))
        return await translate(named, dict(ASK), api_key=KEY, timeout_seconds=PATIENCE_SECONDS, guard=guard)

    async with listening(vendor) as url:
        await ask()
        assert (len(asked), len(dns.asked)) == (1, 1)
        refused = b""
        try:
            refused = bytes((await ask()).body)
        except BadGateway as error:
            refused = str(error).encode()

    assert len(asked) == 1
    assert len(dns.asked) > 1
    assert b"good day" not in refused
