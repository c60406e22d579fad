"""Tests of how the wait time that a vendor states is read: from one of two headers, or from the body at
Google.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from agent_runtime import litellm_calls
from agent_runtime.llm.complete import LLMClient
from agent_runtime.llm.config import LLM
from agent_runtime.llm.errors import LLMRateLimitError, LLMServiceUnavailableError
from agent_runtime.vendors import retry_after_seconds
from tests.agent_runtime.llm.test_complete import PROMPT

# The warnings come from litellm's own code.
pytestmark = pytest.mark.filterwarnings("ignore")

OPENAI = {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}
ANTHROPIC = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
GOOGLE = {
    "error": {
        "code": 429,
        "message": "slow down",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "53.4s"}],
    }
}


@pytest.fixture(autouse=True)
def no_shared_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the HTTP client that tests of the gateway in this process set in litellm. Only the gateway may
    use it.
    """
    monkeypatch.setattr(litellm_calls.load(), "aclient_session", None, raising=False)


@contextmanager
def serving(vendor: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), vendor) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def refusing(body: Any, headers: dict[str, str]) -> Iterator[str]:
    """Yields the URL of a vendor that answers with this error, and checks that it got exactly one request."""
    asked: list[str] = []

    class Vendor(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers["content-length"]))
            content = json.dumps(body).encode()
            self.send_response(429)
            for name, value in {**headers, "content-length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with serving(Vendor) as vendor:
        yield vendor
    assert len(asked) == 1


async def wait_asked_by(client: LLMClient, vendor: str, **fields: Any) -> float | None:
    place = "aws_bedrock_runtime_endpoint" if fields["model"].startswith("bedrock/") else "base_url"
    with pytest.raises(LLMRateLimitError) as refused:
        await client.complete(LLM(**{place: vendor}, num_retries=0, **fields), PROMPT)
    return refused.value.retry_after_seconds


KEY = {"api_key": "k"}
AWS = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_region_name": "us-east-1"}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("header", [("Retry-After", "7"), ("retry-after-ms", "7000")])
@pytest.mark.parametrize(
    ("fields", "body"),
    [
        ({"model": "openai/gpt-5", **KEY}, OPENAI),
        ({"model": "openrouter/openai/gpt-5", **KEY}, OPENAI),
        ({"model": "deepseek/deepseek-chat", **KEY}, OPENAI),
        ({"model": "ollama/llama3", **KEY}, {"error": "server busy"}),
        ({"model": "hosted_vllm/x", **KEY}, OPENAI),
        ({"model": "azure/gpt-5", "api_version": "2024-10-21", **KEY}, OPENAI),
        ({"model": "anthropic/claude-sonnet-4-5", **KEY}, ANTHROPIC),
        ({"model": "gemini/gemini-2.5-pro", **KEY}, GOOGLE),
        ({"model": "bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0", **AWS}, {"message": "slow down"}),
    ],
    ids=lambda value: value.get("model", "") if isinstance(value, dict) else "",
)
async def test_the_header_of_each_vendor_is_read(
    client: LLMClient, fields: dict[str, Any], body: Any, header: tuple[str, str], stream: bool
):
    with refusing(body, dict([header])) as vendor:
        assert await wait_asked_by(client, vendor, stream=stream, **fields) == 7


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["gemini/gemini-2.5-pro", "openai/gemini-2.5-pro"])
@pytest.mark.parametrize("body", [GOOGLE, [GOOGLE]])
async def test_what_google_states_in_the_body_is_read(client: LLMClient, model: str, body: Any, stream: bool):
    with refusing(body, {}) as vendor:
        assert await wait_asked_by(client, vendor, model=model, stream=stream, **KEY) == 53.4


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7),
        ({"retry-after-ms": "", "retry-after": "7"}, 7),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "-inf", "retry-after": "7"}, 7),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
        ({}, None),
    ],
)
def test_a_header_that_says_nothing_is_passed_over(headers: dict[str, str], seconds: float | None):
    assert retry_after_seconds(headers) == seconds


async def test_a_stream_that_breaks_off_is_reported_in_words(client: LLMClient):
    piece = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "x",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": "good "}}],
    }

    class Vendor(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", "100000")
            self.end_headers()
            self.wfile.write(f"data: {json.dumps(piece)}\n\n".encode())

        def log_message(self, *_: Any) -> None:
            pass

    fields: dict[str, Any] = {"model": "azure/gpt-5", "api_version": "2024-10-21", "stream": True, **KEY}
    with serving(Vendor) as vendor, pytest.raises(LLMServiceUnavailableError) as failed:
        await client.complete(LLM(base_url=vendor, num_retries=0, **fields), PROMPT)
    assert "Traceback" not in str(failed.value)
    assert "closed connection" in str(failed.value)
