"""Tests of requests in Anthropic's Messages protocol to Anthropic's own models: the gateway passes them
unchanged. The real `anthropic` package reads the replies.
"""

from typing import Any
from uuid import UUID

import anthropic
import orjson
import pytest

from agent_runtime.metering.prices import Price
from agent_runtime.metering.token_counts import usage_of, usage_of_message
from app_server.llm_gateway.limits.meter import EventStreamMeter, meter_for
from app_server.llm_gateway.protocols.native_messages import headers_of
from app_server.settings.profiles import save_profile
from app_server.settings.schemas import LLMSettings
from app_server.users.models import User
from tests.app_server.conftest import App
from tests.app_server.eventually import eventually
from tests.app_server.llm_gateway import test_programs
from tests.app_server.llm_gateway.test_programs import HELLO, LOOK, PIXEL, Program, _is_spent
from tests.support.scripted_llm import ScriptedLLM, calls, fail, raw, say

conversation_id, model_key = test_programs.conversation_id, test_programs.model_key
through_relay = test_programs.program
SIGNED: Any = {"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk"}
MARK: Any = {"type": "ephemeral"}


@pytest.fixture
async def program(app: App, owner: User, through_relay: Program, scripted_llm: ScriptedLLM) -> Program:
    """Returns a program whose conversation uses a Claude model. Each token of the prompt and of the reply
    costs one dollar.
    """
    llm = {
        "model": "anthropic/claude-sonnet-4-5",
        "base_url": scripted_llm.base_url.removesuffix("/v1"),
        "api_key": scripted_llm.api_key,
        "input_cost_per_token": 1,
        "output_cost_per_token": 1,
    }
    async with app.database.session() as session:
        await save_profile(session, app.state["cipher"], owner.id, "vendor", LLMSettings.model_validate(llm))
    return through_relay


async def test_thinking_tools_images_and_marks_pass_unchanged_both_ways(
    program: Program, scripted_llm: ScriptedLLM
) -> None:
    asked = calls(("look", {"at": "it"}), thinking_blocks=(SIGNED,))
    scripted_llm.script(asked, say("seen"))
    system: Any = [{"type": "text", "text": "Be brief.", "cache_control": MARK}]
    thinking: Any = {"type": "enabled", "budget_tokens": 1024}
    given: Any = {"model": "any", "max_tokens": 2000, "system": system, "thinking": thinking, "tools": [LOOK]}
    betas = {"anthropic-beta": "interleaved-thinking-2025-05-14,files-api-2025-04-14"}
    async with program.anthropic.messages.stream(**given, messages=HELLO, extra_headers=betas) as stream:
        first = await stream.get_final_message()
    assert [block.type for block in first.content] == ["thinking", "tool_use"]
    assert first.content[0].to_dict() == SIGNED
    assert first.content[1].type == "tool_use"
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    result = {"type": "tool_result", "tool_use_id": first.content[1].id, "content": [image]}
    talk: Any = [
        *HELLO,
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [result]},
    ]
    named = {"metadata": {"user_id": "me"}}
    second = await program.anthropic.messages.create(**given, messages=talk, extra_body=named)
    assert second.content[0].to_dict() == {"type": "text", "text": "seen"}

    one, two = scripted_llm.requests
    assert one.path == "/v1/messages"
    assert one.headers["x-api-key"] == scripted_llm.api_key
    assert "authorization" not in one.headers
    assert program.key not in str(one.headers)
    assert one.headers["anthropic-version"] == "2023-06-01"
    assert one.headers["anthropic-beta"] == "interleaved-thinking-2025-05-14"
    shared = {**given, "model": "claude-sonnet-4-5"}
    assert one.body == {**shared, "messages": HELLO, "stream": True}
    assert two.body["messages"][1]["content"][0] == SIGNED
    assert two.body["messages"][2]["content"] == [result]
    assert "metadata" not in two.body
    assert "anthropic-beta" not in two.headers


async def test_documents_pass_and_the_vendor_counts(program: Program, scripted_llm: ScriptedLLM) -> None:
    scripted_llm.script(say("read"), raw(b'{"input_tokens": 42}'), fail(404, error="no such route"))
    asked: Any = [{"role": "user", "content": [{**test_programs.PDF, "citations": {"enabled": True}}]}]
    cited = {"type": "text", "text": "So it is.", "citations": [{"type": "page_location", "cited_text": "x"}]}
    talk: Any = [*asked, {"role": "assistant", "content": [cited]}, *HELLO]
    await program.anthropic.messages.create(model="any", max_tokens=9, messages=talk)
    count = program.anthropic.messages.count_tokens
    assert (await count(model="any", messages=asked)).input_tokens == 42
    assert (await count(model="any", messages=asked)).input_tokens > 2000, "estimated"
    call, counted, _ = scripted_llm.requests
    assert call.body["messages"] == talk
    assert counted.path == "/v1/messages/count_tokens"
    assert counted.body == {"model": "claude-sonnet-4-5", "messages": asked}
    assert counted.headers["x-api-key"] == scripted_llm.api_key


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_cached_tokens_are_paid_for_too(
    app: App, program: Program, conversation_id: UUID, scripted_llm: ScriptedLLM, is_streamed: bool
) -> None:
    scripted_llm.script(say("seen", prompt_tokens=100, cached_tokens=90, completion_tokens=7))
    reply: Any = await program.anthropic.messages.create(
        model="any", max_tokens=9, messages=HELLO, stream=is_streamed
    )
    if is_streamed:
        assert [event.type async for event in reply][-1] == "message_stop"
    await eventually(lambda: _is_spent(app, conversation_id, 107))


async def test_refusals_have_the_shape_of_anthropic_and_no_key(
    program: Program, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(fail(429, error=f"slow down, {scripted_llm.api_key}", retry_after=3))
    with pytest.raises(anthropic.RateLimitError, match=r"slow down, \[key\]") as refused:
        await program.anthropic.messages.create(model="any", max_tokens=9, messages=HELLO)
    body: Any = refused.value.body
    assert (body["type"], body["error"]["type"]) == ("error", "rate_limit_error")
    assert refused.value.response.headers["retry-after"] == "3"


@pytest.mark.parametrize(("given", "reason"), test_programs.REFUSED)
async def test_what_leads_out_of_the_sandbox_is_refused(
    program: Program, scripted_llm: ScriptedLLM, given: Any, reason: str
) -> None:
    with pytest.raises(anthropic.BadRequestError, match=reason):
        await program.anthropic.messages.create(**{"model": "x", "max_tokens": 9, "messages": HELLO, **given})
    assert scripted_llm.requests == []


def test_previews_are_allowed_by_name_whatever_their_date() -> None:
    given = {"anthropic-beta": "effort-2025-11-24, mcp-client-2025-04-04,effort-fast-modes,x"}
    assert headers_of(given)["anthropic-beta"] == "effort-2025-11-24"


def test_a_stream_that_broke_off_is_paid_by_its_prompt_and_its_length() -> None:
    meter = meter_for("text/event-stream")
    assert isinstance(meter, EventStreamMeter)
    usage = {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 1}
    meter.feed(b"data: " + orjson.dumps({"type": "message_start", "message": {"usage": usage}}) + b"\n\n")
    meter.feed(b"data: " + b"x" * 400 + b"\n\n")
    found = meter.usage()
    assert found is not None
    assert (found.prompt_tokens, found.cache_read_tokens) == (7, 2)
    assert found.completion_tokens > 100
    assert not meter.has_ended


def test_what_is_cached_for_an_hour_has_a_price_for_it() -> None:
    written = {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 30}
    of_message = {"input_tokens": 5, "cache_creation_input_tokens": 40, "cache_creation": written}
    details = {"cache_creation_tokens": 40, "cache_creation_token_details": written}
    of_chat = {"prompt_tokens": 45, "prompt_tokens_details": details}

    for usage in (usage_of_message(of_message), usage_of(of_chat)):
        assert (usage.prompt_tokens, usage.cache_write_tokens, usage.cache_write_hour_tokens) == (45, 40, 30)
        assert Price(1, 1, 1, cache_write=2, cache_write_hour=4).of(usage) == 5 + 10 * 2 + 30 * 4
        assert Price(1, 1, 1, cache_write=2).of(usage) == 5 + 40 * 2
