"""Tests of programs with the real `anthropic` package that call other vendors' models: they request a reply
in a given format, and mark the parts of the prompt to cache.
"""

from typing import Any

import anthropic
import httpx
import orjson
import pytest

from tests.app_server.llm_gateway import test_programs
from tests.app_server.llm_gateway.test_program_thinking import use
from tests.app_server.llm_gateway.test_programs import HELLO, LOOK, Program
from tests.support.scripted_llm import ScriptedLLM, raw, say
from tests.support.vendor_types import accept

conversation_id, model_key, program = (
    test_programs.conversation_id,
    test_programs.model_key,
    test_programs.program,
)

# litellm's own code raises the warnings.
pytestmark = pytest.mark.filterwarnings("ignore")

SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string"}},
    "required": ["colour"],
    "additionalProperties": False,
}
FORMAT: Any = {"format": {"type": "json_schema", "schema": SCHEMA}}
STRICT = {"name": "output", "schema": SCHEMA, "strict": True}


async def told(program: Program, **given: Any) -> Any:
    return await program.anthropic.messages.create(model="x", max_tokens=99, messages=HELLO, **given)


async def test_the_form_of_a_reply_is_stated_in_the_protocol_of_each_vendor(
    client: httpx.AsyncClient, program: Program, scripted_llm: ScriptedLLM
) -> None:
    for model in ("openai/gpt-5", "openai/gpt-5-pro", "gemini/gemini-2.5-pro"):
        await use(client, scripted_llm, model)
        scripted_llm.script(say('{"colour": "red"}'))
        reply = await told(program, output_config={**FORMAT, "effort": "low"})
        assert reply.content[0].text == '{"colour": "red"}'

    chat, response, gemini = scripted_llm.requests
    assert chat.body["response_format"] == {"type": "json_schema", "json_schema": STRICT}
    assert response.body["text"] == {"format": {"type": "json_schema", **STRICT}}
    generation = gemini.body["generationConfig"]
    assert generation.get("responseMimeType", generation.get("response_mime_type")) == "application/json"
    assert "colour" in str(generation)
    for asked in (chat, gemini):
        accept(asked.route, asked.body)


@pytest.mark.parametrize("model", ["openrouter/anthropic/claude-sonnet-4.5", "openai/gpt-5"])
async def test_marks_of_the_cache_reach_models_that_read_them(
    client: httpx.AsyncClient, program: Program, scripted_llm: ScriptedLLM, model: str
) -> None:
    mark: Any = {"type": "ephemeral"}
    used: Any = {"type": "tool_use", "id": "1", "name": "look", "input": {}}
    result: Any = {"type": "tool_result", "tool_use_id": "1", "content": "a door", "cache_control": mark}
    talk: Any = [*HELLO, {"role": "assistant", "content": [used]}, {"role": "user", "content": [result]}]
    system: Any = [{"type": "text", "text": "Be brief.", "cache_control": mark}]
    await use(client, scripted_llm, model)
    scripted_llm.script(say("I see."))
    await program.anthropic.messages.create(
        model="x", max_tokens=99, messages=talk, system=system, tools=[LOOK]
    )
    first, *_, last = scripted_llm.requests[0].messages
    if "claude" in model:
        assert first["content"] == system
        assert last["content"] == [{"type": "text", "text": "a door", "cache_control": mark}]
    else:
        assert "cache_control" not in str(scripted_llm.requests[0].body)


async def test_a_refusal_to_answer_in_the_form_is_told(program: Program, scripted_llm: ScriptedLLM) -> None:
    message = {"role": "assistant", "content": None, "refusal": "I cannot."}
    piece = {"choices": [{"index": 0, "delta": message, "finish_reason": "stop"}]}
    scripted_llm.script(
        raw(orjson.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})),
        raw(orjson.dumps(piece)),
    )
    whole = await told(program, output_config=FORMAT)
    async with program.anthropic.messages.stream(
        model="x", max_tokens=99, messages=HELLO, extra_body={"output_config": FORMAT}
    ) as stream:
        streamed = await stream.get_final_message()
    for reply in (whole, streamed):
        assert (reply.stop_reason, reply.content[0].text) == ("refusal", "I cannot.")


async def test_what_cannot_be_translated_is_refused_by_name(
    client: httpx.AsyncClient, program: Program, scripted_llm: ScriptedLLM
) -> None:
    async def refusal(**body: Any) -> str:
        with pytest.raises(anthropic.BadRequestError) as refused:
            await told(program, extra_body=body)
        return str(refused.value)

    assert "output_config.task_budget" in await refusal(output_config={"task_budget": {"type": "tokens"}})
    old_results = {"edits": [{"type": "clear_tool_uses_20250919"}]}
    assert "clear_tool_uses_20250919" in await refusal(context_management=old_results)
    await use(client, scripted_llm, "cohere/command-r")
    assert "response_format" in await refusal(output_config=FORMAT)
    assert scripted_llm.requests == []
    await use(client, scripted_llm, "openai/gpt-5")
    scripted_llm.script(say("Hi."))
    old_thinking = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
    await told(program, extra_body={"context_management": old_thinking})
    assert "context_management" not in scripted_llm.requests[0].body
