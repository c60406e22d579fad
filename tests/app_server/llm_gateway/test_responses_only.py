"""Tests of models that accept only OpenAI's Responses protocol: through the gateway they also answer chat
completions and Anthropic's Messages. The vendors' real packages read the replies.
"""

from typing import Any
from uuid import UUID

import anthropic
import httpx
import openai
import pytest

from agent_runtime.catalogue.facts import Facts
from app_server.llm_gateway.protocols.chat_as_responses import as_response
from app_server.settings.profiles import save_profile
from app_server.settings.schemas import LLMSettings
from app_server.users.models import User
from tests.app_server.conftest import App
from tests.app_server.eventually import eventually
from tests.app_server.llm_gateway import test_programs
from tests.app_server.llm_gateway.test_programs import HELLO, LOOK, PIXEL, Program, _is_spent
from tests.support.scripted_llm import ScriptedLLM, calls, fail, say
from tests.support.vendor_types import accept

conversation_id, model_key = test_programs.conversation_id, test_programs.model_key
through_relay = test_programs.program
URL = f"data:image/png;base64,{PIXEL}"
TOOL: Any = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


@pytest.fixture
async def program(app: App, owner: User, through_relay: Program, scripted_llm: ScriptedLLM) -> Program:
    llm = {
        "model": "openai/o3-pro",
        "base_url": scripted_llm.base_url,
        "api_key": scripted_llm.api_key,
        "input_cost_per_token": 0,
        "output_cost_per_token": 1,
    }
    async with app.database.session() as session:
        await save_profile(session, app.state["cipher"], owner.id, "vendor", LLMSettings.model_validate(llm))
    return through_relay


async def test_a_chat_completion_calls_tools_and_shows_an_image(
    app: App, program: Program, conversation_id: UUID, scripted_llm: ScriptedLLM
) -> None:
    asked = calls(("look", {"at": "it"}), ("look", {"at": "that"}), thought="Let me look.")
    scripted_llm.script(asked, say("seen", completion_tokens=7, cached_tokens=50))
    chat = program.openai.chat.completions
    given: Any = {"model": "any", "tools": [TOOL], "temperature": 0, "max_completion_tokens": 99}
    first = await chat.create(**given, messages=HELLO, reasoning_effort="low")
    said = first.choices[0].message
    assert (said.content, first.choices[0].finish_reason) == ("Let me look.", "tool_calls")
    assert said.tool_calls is not None
    assert [each.type == "function" and each.function.arguments for each in said.tool_calls] == [
        '{"at": "it"}',
        '{"at": "that"}',
    ]
    results = [{"role": "tool", "tool_call_id": each.id, "content": "a boat"} for each in said.tool_calls]
    image = {"type": "image_url", "image_url": {"url": URL}}
    shown = {"role": "user", "content": [{"type": "text", "text": "And here?"}, image]}
    talk: Any = [{"role": "system", "content": "Be brief."}, *HELLO, said, *results, shown]
    given["tool_choice"] = {"type": "function", "function": {"name": "look"}}
    second = await chat.create(**given, messages=talk)
    assert (second.choices[0].message.content, second.choices[0].finish_reason) == ("seen", "stop")
    assert second.usage is not None
    assert second.usage.prompt_tokens_details is not None
    assert (second.usage.completion_tokens, second.usage.prompt_tokens_details.cached_tokens) == (7, 50)

    one, two = scripted_llm.requests
    for request in (one, two):
        assert request.path == "/v1/responses"
        accept(request.path, request.body)
        assert request.body["store"] is False
        assert "temperature" not in request.body, "this model refuses it"
    assert (one.body["model"], one.body["max_output_tokens"]) == ("o3-pro", 99)
    assert one.body["reasoning"] == {"effort": "low"}
    assert one.body["tools"] == [{"type": "function", "strict": False, **TOOL["function"]}]
    assert [item.get("role") or item["type"] for item in two.body["input"]] == [
        "system",
        "user",
        "assistant",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "user",
    ]
    assert two.body["input"][-1]["content"][1]["image_url"] == URL
    assert two.body["tool_choice"] == {"type": "function", "name": "look"}
    spent = first.usage.completion_tokens + 7 if first.usage else 0
    await eventually(lambda: _is_spent(app, conversation_id, spent))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["openai/o3-pro", "openai/gpt-5-pro"])
async def test_reasoning_comes_back_to_the_model_that_made_it(
    app: App, owner: User, program: Program, scripted_llm: ScriptedLLM, stream: bool, model: str
) -> None:
    reasons = {"reasoning": "Hm.", "encrypted_reasoning": "aGlkZGVu"}
    scripted_llm.script(calls(("look", {"at": "it"}), **reasons), say("seen"))
    chat, given = program.openai.chat.completions, {"model": "any", "messages": HELLO}
    if stream:
        async with chat.stream(**given) as events:
            said: Any = (await events.get_final_completion()).choices[0].message
    else:
        said = (await chat.create(**given)).choices[0].message
    if model != "openai/o3-pro":
        llm = {"model": model, "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
        changed = LLMSettings.model_validate(llm)
        async with app.database.session() as session:
            await save_profile(session, app.state["cipher"], owner.id, "vendor", changed)
    result = {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "a boat"}

    await chat.create(model="any", messages=[*HELLO, said, result])

    (_, last) = scripted_llm.requests
    accept(last.path, last.body)
    kept = [item for item in last.items if item["type"] == "reasoning"]
    is_same = model == "openai/o3-pro"
    assert [item["encrypted_content"] for item in kept] == (["aGlkZGVu"] if is_same else [])
    kinds = [item["type"] for item in last.items]
    assert kinds[-2:] == ["function_call", "function_call_output"]
    assert (kinds[-3] == "reasoning") is is_same


async def test_a_streamed_chat_completion_is_put_together_by_the_package(
    program: Program, scripted_llm: ScriptedLLM
) -> None:
    asked = calls(("look", {"at": "it"}), ("look", {"at": "that"}), thought="Let me look.")
    scripted_llm.script(asked, calls(("look", '{"at": "i'), finish_reason="length"))
    # The package assembles streamed tool calls only for tools with a strict schema.
    strict = {"type": "function", "function": {**TOOL["function"], "strict": True}}
    given: Any = {"model": "any", "messages": HELLO, "tools": [strict]}
    async with program.openai.chat.completions.stream(**given) as stream:
        whole = await stream.get_final_completion()
    message = whole.choices[0].message
    assert (message.content, whole.choices[0].finish_reason) == ("Let me look.", "tool_calls")
    assert message.tool_calls is not None
    assert [call.function.arguments for call in message.tool_calls] == ['{"at": "it"}', '{"at": "that"}']
    assert whole.usage is not None
    assert whole.usage.completion_tokens == 10
    chunks = [chunk async for chunk in await program.openai.chat.completions.create(**given, stream=True)]
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "length"


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_messages_of_anthropic_are_answered_too(
    app: App, program: Program, conversation_id: UUID, scripted_llm: ScriptedLLM, is_streamed: bool
) -> None:
    asked = calls(("look", {"at": "it"}), thought="Let me look.")
    scripted_llm.script(asked, say("seen", completion_tokens=7))
    messages = program.anthropic.messages
    shared: Any = {"model": "any", "max_tokens": 100, "system": "Be brief.", "tools": [LOOK]}

    async def ask(talk: Any) -> anthropic.types.Message:
        if not is_streamed:
            reply: anthropic.types.Message = await messages.create(**shared, messages=talk)
            return reply
        async with messages.stream(**shared, messages=talk) as stream:
            return await stream.get_final_message()

    first = await ask(HELLO)
    assert [block.type for block in first.content] == ["text", "tool_use"]
    assert first.content[1].type == "tool_use"
    assert (first.content[1].input, first.stop_reason) == ({"at": "it"}, "tool_use")
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    result = {"type": "tool_result", "tool_use_id": first.content[1].id, "content": [image]}
    said = {"role": "assistant", "content": first.content}
    second = await ask([*HELLO, said, {"role": "user", "content": [result]}])
    assert second.content[0].to_dict() == {"type": "text", "text": "seen"}
    assert (second.stop_reason, second.usage.output_tokens) == ("end_turn", 7)
    for request in scripted_llm.requests:
        assert bool(request.body.get("stream")) is is_streamed
        accept(request.path, request.body)
    assert scripted_llm.requests[1].body["input"][-1]["content"][1]["image_url"] == URL
    await eventually(lambda: _is_spent(app, conversation_id, first.usage.output_tokens + 7))


async def test_what_responses_cannot_say_is_refused_by_its_name(
    program: Program, scripted_llm: ScriptedLLM
) -> None:
    chat = program.openai.chat.completions
    with pytest.raises(openai.BadRequestError, match="'n'"):
        await chat.create(model="any", messages=HELLO, n=2)
    audio: Any = {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}
    with pytest.raises(openai.BadRequestError, match="input_audio"):
        await chat.create(model="any", messages=[{"role": "user", "content": [audio]}])
    with pytest.raises(openai.BadRequestError, match="stored at the vendor"):
        await chat.create(
            model="any", messages=[{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}]
        )
    with pytest.raises(anthropic.BadRequestError, match="'top_k'"):
        await program.anthropic.messages.create(
            model="any", max_tokens=9, messages=HELLO, extra_body={"top_k": 5}
        )
    assert scripted_llm.requests == []


async def test_refusals_and_broken_streams_reach_the_program(
    app: App, program: Program, conversation_id: UUID, scripted_llm: ScriptedLLM
) -> None:
    refused = fail(429, error=f"slow down, {scripted_llm.api_key}", retry_after=3)
    scripted_llm.script(refused, refused, say("never whole", cut_after_pieces=3))
    with pytest.raises(openai.RateLimitError, match=r"slow down, \[key\]") as error:
        await program.openai.chat.completions.create(model="any", messages=HELLO)
    assert error.value.response.headers["retry-after"] == "3"
    with pytest.raises(anthropic.RateLimitError, match=r"slow down, \[key\]"):
        await program.anthropic.messages.create(model="any", max_tokens=9, messages=HELLO)
    stream = await program.openai.chat.completions.create(model="any", messages=HELLO, stream=True)
    with pytest.raises((openai.APIError, httpx.RemoteProtocolError)):
        [chunk async for chunk in stream]


def test_tools_with_a_grammar_and_formats_of_the_reply_are_named_as_responses_name_them() -> None:
    grammar = {"syntax": "lark", "definition": "start: /a/"}
    patch = {"name": "patch", "format": {"type": "grammar", "grammar": grammar}}
    asked = {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "a"}}
    tools = [{"type": "function", "name": "look"}, {"type": "custom", "name": "patch"}]
    chosen = [{"type": each["type"], each["type"]: {"name": each["name"]}} for each in tools]
    schema = {"name": "answer", "schema": {"type": "object"}, "strict": True}
    body = {
        "messages": [
            {"role": "assistant", "content": None, "tool_calls": [asked]},
            {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "done"}]},
        ],
        "tools": [{"type": "custom", "custom": patch}],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": chosen}},
        "response_format": {"type": "json_schema", "json_schema": schema},
        "verbosity": "low",
        "n": 1,
    }
    sent = as_response(body, Facts(), "any")
    assert sent == (
        {
            "input": [
                {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "a"},
                {
                    "type": "custom_tool_call_output",
                    "call_id": "c",
                    "output": [{"type": "input_text", "text": "done"}],
                },
            ],
            "tools": [{"type": "custom", "name": "patch", "format": {"type": "grammar", **grammar}}],
            "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": tools},
            "text": {"format": {"type": "json_schema", **schema}, "verbosity": "low"},
            "include": ["reasoning.encrypted_content"],
            "store": False,
        }
    )
    accept("/responses", {**sent, "model": "any"})
