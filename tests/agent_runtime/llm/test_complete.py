"""Tests of requests to a model over real HTTP connections."""

import asyncio
import sys
from collections.abc import AsyncIterator

import orjson
import pytest

from agent_runtime.llm.complete import LLMClient
from agent_runtime.llm.config import LLM
from agent_runtime.llm.errors import (
    LLMBadRequestError,
    LLMBaseUrlError,
    LLMBudgetError,
    LLMConnectionError,
    LLMContextWindowError,
    LLMError,
    LLMRateLimitError,
    LLMTimeoutError,
    LLMUnreachableError,
)
from agent_runtime.llm.messages import Prompt
from tests.support.scripted_llm import ScriptedLLM, calls, fail, hang, hold, say

PROMPT = Prompt(messages=[orjson.dumps({"role": "user", "content": "hi"})])


@pytest.fixture
async def client() -> AsyncIterator[LLMClient]:
    client = LLMClient()
    yield client
    await client.close()


def model(llm: ScriptedLLM, **fields: object) -> LLM:
    quick = {"retry_min_wait": 0, "retry_max_wait": 0.01, "num_retries": 2}
    return LLM.model_validate(
        {"model": "openai/scripted", "base_url": llm.base_url, "api_key": llm.api_key, **quick, **fields}
    )


@pytest.mark.parametrize("stream", [True, False])
async def test_a_reply_is_the_same_streamed_or_not(
    client: LLMClient, scripted_llm: ScriptedLLM, stream: bool
):
    scripted_llm.script(
        calls(("a", {"x": "é" * 9}), ("b", {}), thought="Text.", reasoning="Because.", cached_tokens=7)
    )

    reply = await client.complete(model(scripted_llm, stream=stream), PROMPT)

    assert (reply.text, reply.reasoning) == ("Text.", "Because.")
    assert [(call.name, orjson.loads(call.arguments)) for call in reply.tool_calls] == [
        ("a", {"x": "é" * 9}),
        ("b", {}),
    ]
    assert (reply.usage.prompt_tokens, reply.usage.cache_read_tokens) == (100, 7)


async def test_the_request_carries_the_key_the_name_and_the_parameters(
    client: LLMClient, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("ok"))

    await client.complete(model(scripted_llm, temperature=0.5, max_output_tokens=9), PROMPT)

    (request,) = scripted_llm.requests
    assert request.bearer == scripted_llm.api_key
    assert request.body["model"] == "scripted"
    assert request.body["temperature"] == 0.5
    assert request.body["max_tokens"] == 9
    assert request.messages == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("openai/gpt-4.1", "max_completion_tokens"),
        ("openrouter/openai/gpt-5", "max_completion_tokens"),
        ("groq/qwen3", "max_completion_tokens"),
        ("openai/gpt-oss-120b", "max_tokens"),
        ("mistral/devstral", "max_tokens"),
        ("ollama/llama", "max_tokens"),
    ],
)
async def test_the_limit_of_a_reply_has_the_name_that_the_server_knows(
    client: LLMClient, scripted_llm: ScriptedLLM, name: str, field: str
):
    scripted_llm.script(say("ok"))

    await client.complete(model(scripted_llm, model=name, max_output_tokens=9), PROMPT)

    limits = {"max_tokens", "max_completion_tokens"} & scripted_llm.requests[0].body.keys()
    assert limits == {field}


@pytest.mark.parametrize(("name", "effort"), [("openai/gpt-5", "high"), ("openai/gpt-4.1", None)])
async def test_a_reasoning_effort_is_sent_to_models_that_accept_it(
    client: LLMClient, scripted_llm: ScriptedLLM, name: str, effort: str | None
):
    scripted_llm.script(say("ok"))

    await client.complete(model(scripted_llm, model=name, reasoning_effort="high", timeout=None), PROMPT)

    assert scripted_llm.requests[0].body.get("reasoning_effort") == effort


async def test_a_brokered_credential_stands_in_for_the_models_own_key(scripted_llm: ScriptedLLM):
    scripted_llm.script(say("ok"))
    client = LLMClient(credential_for=lambda url: "session" if url == scripted_llm.base_url else None)

    await client.complete(model(scripted_llm), PROMPT)
    await client.close()

    assert scripted_llm.requests[0].bearer == "session"


@pytest.mark.parametrize(
    ("turn", "error", "requests"),
    [
        (fail(400), LLMBadRequestError, 1),
        (fail(400, error="maximum context length is 8 tokens"), LLMContextWindowError, 1),
        (fail(400, error="exceeds the available context size"), LLMContextWindowError, 1),
        (fail(402), LLMBudgetError, 1),
        (fail(429, retry_after=0), LLMRateLimitError, 3),
        (fail(502, error="No model's server. (llm_base_url_wrong)"), LLMBaseUrlError, 1),
    ],
)
async def test_failures_are_typed_and_only_passing_ones_are_tried_again(
    client: LLMClient, scripted_llm: ScriptedLLM, turn: object, error: type[LLMError], requests: int
):
    scripted_llm.fallback = turn

    with pytest.raises(error):
        await client.complete(model(scripted_llm), PROMPT)

    assert len(scripted_llm.requests) == requests


async def test_an_address_where_nothing_answers_is_tried_only_a_few_times(
    client: LLMClient, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = fail(502, error="vendor.test cannot be reached. (llm_vendor_unreachable)")

    with pytest.raises(LLMUnreachableError, match=r"^vendor\.test cannot be reached\.$"):
        await client.complete(model(scripted_llm, num_retries=10), PROMPT)

    assert len(scripted_llm.requests) == 4


async def test_the_wait_the_vendor_asks_for_is_kept(client: LLMClient, scripted_llm: ScriptedLLM):
    scripted_llm.script(fail(429, retry_after=0.3), say("ok"))
    loop = asyncio.get_running_loop()
    begin = loop.time()

    await client.complete(model(scripted_llm), PROMPT)

    assert loop.time() - begin >= 0.3


async def test_a_silent_vendor_times_out(client: LLMClient, scripted_llm: ScriptedLLM):
    scripted_llm.fallback = hang()

    with pytest.raises(LLMTimeoutError):
        await client.complete(model(scripted_llm, timeout=0.1, num_retries=0), PROMPT)


async def test_a_server_that_does_not_listen_is_a_connection_error(
    client: LLMClient, scripted_llm: ScriptedLLM
):
    nowhere = model(scripted_llm, base_url="http://127.0.0.1:9/v1", num_retries=0)

    with pytest.raises(LLMConnectionError):
        await client.complete(nowhere, PROMPT)


async def test_cancelling_a_call_hangs_up(client: LLMClient, scripted_llm: ScriptedLLM):
    scripted_llm.script(hold(say("late")))
    call = asyncio.create_task(client.complete(model(scripted_llm), PROMPT))
    await scripted_llm.wait_for_requests(1)

    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    await scripted_llm.wait_until(lambda: scripted_llm.cancelled == 1)


async def test_our_own_transport_needs_no_litellm(
    client: LLMClient, scripted_llm: ScriptedLLM, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "litellm", None)
    scripted_llm.script(say("ok"))

    reply = await client.complete(model(scripted_llm), PROMPT)

    assert reply.text == "ok"


@pytest.mark.parametrize("key", ["", "**********", None])
def test_a_masked_key_counts_as_none(key: str | None):
    assert LLM(model="x", api_key=key).api_key is None


def test_a_key_is_never_shown():
    llm = LLM(model="x", api_key="canary")

    assert "canary" not in repr(llm)
    assert "canary" not in llm.model_dump_json()
