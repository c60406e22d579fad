"""Tests of programs with the real `anthropic` package that request thinking from other vendors' models."""

from typing import Any

import httpx
import pytest

from tests.app_server.llm_gateway import test_programs
from tests.app_server.llm_gateway.test_programs import HELLO, LOOK, Program
from tests.support.scripted_llm import ScriptedLLM, calls, say
from tests.support.vendor_types import accept

conversation_id, model_key, program = (
    test_programs.conversation_id,
    test_programs.model_key,
    test_programs.program,
)

# litellm's own code raises the warnings.
pytestmark = pytest.mark.filterwarnings("ignore")

SIGNED: Any = {"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk"}
ENABLED: Any = {"type": "enabled", "budget_tokens": 16_000}
CLAUDE_AT_BEDROCK = "bedrock/converse/anthropic.claude-sonnet-4-5-20250929-v1:0"


async def use(client: httpx.AsyncClient, vendor: ScriptedLLM, model: str, **options: Any) -> None:
    """Saves another model in the profile of the program's conversation.

    options: further fields of the profile.
    """
    is_translated = not model.startswith(("openai/", "deepseek/", "openrouter/"))
    base_url = vendor.base_url.removesuffix("/v1") if is_translated else vendor.base_url
    key = "" if "bedrock" in model else vendor.api_key
    llm = {"model": model, "base_url": base_url, "api_key": key, **options}
    saved = await client.post("/api/v1/settings/profiles/vendor", json={"llm": llm})
    assert saved.status_code == 201, saved.text


EFFORT = "reasoning_effort"
WISHES: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("openai/gpt-5", {"thinking": ENABLED}, {}, {EFFORT: "high"}),
    ("openai/gpt-5", {"thinking": {"type": "enabled", "budget_tokens": 1024}}, {}, {EFFORT: "low"}),
    ("openai/gpt-5", {"thinking": ENABLED}, {EFFORT: "minimal"}, {EFFORT: "minimal"}),
    ("openai/gpt-5", {"thinking": {"type": "adaptive"}}, {}, {}),
    ("openai/gpt-5", {"output_config": {"effort": "max"}}, {}, {EFFORT: "high"}),
    ("openai/gpt-5", {"thinking": {"type": "disabled"}}, {EFFORT: "high"}, {}),
    ("openai/gpt-5", {}, {EFFORT: "high"}, {}),
    ("openai/gpt-4o", {"thinking": ENABLED}, {}, {}),
    ("openai/unknown", {"thinking": ENABLED}, {}, {}),
    (
        "openrouter/anthropic/claude-sonnet-4.5",
        {"thinking": ENABLED},
        {},
        {"reasoning": {"max_tokens": 16_000}},
    ),
]


@pytest.mark.parametrize(("model", "wish", "chosen", "sent"), WISHES, ids=lambda value: str(value)[:30])
async def test_the_wish_to_think_becomes_what_the_model_takes(
    client: httpx.AsyncClient,
    program: Program,
    scripted_llm: ScriptedLLM,
    model: str,
    wish: dict[str, Any],
    chosen: dict[str, Any],
    sent: dict[str, Any],
) -> None:
    await use(client, scripted_llm, model, **chosen)
    scripted_llm.script(say("hi"))
    await program.anthropic.messages.create(model="x", max_tokens=20_000, messages=HELLO, **wish)
    (asked,) = scripted_llm.requests
    fields = {"reasoning", "reasoning_effort", "thinking"}
    assert {name: asked.body[name] for name in fields & asked.body.keys()} == sent
    if "reasoning" not in sent:
        accept(asked.route, asked.body, further=frozenset({"max_tokens"}))


@pytest.mark.parametrize("stream", [False, True])
async def test_open_reasoning_is_shown_as_thinking_and_sent_back(
    client: httpx.AsyncClient, program: Program, scripted_llm: ScriptedLLM, stream: bool
) -> None:
    await use(client, scripted_llm, "deepseek/deepseek-reasoner")
    scripted_llm.script(calls(("look", {}), reasoning="I should look.", thought="Looking."), say("Done."))
    first = await _told(program, HELLO, stream, thinking=ENABLED)

    assert [block["type"] for block in first] == ["thinking", "text", "tool_use"]
    assert first[0] == {"type": "thinking", "thinking": "I should look.", "signature": ""}
    result = {"type": "tool_result", "tool_use_id": first[2]["id"], "content": "a door"}
    talk = [*HELLO, {"role": "assistant", "content": first}, {"role": "user", "content": [result]}]
    await _told(program, talk, stream, thinking=ENABLED)
    assert scripted_llm.requests[1].messages[1]["reasoning_content"] == "I should look."


@pytest.mark.parametrize("stream", [False, True])
async def test_signed_thinking_of_claude_at_another_vendor_goes_both_ways(
    client: httpx.AsyncClient,
    program: Program,
    scripted_llm: ScriptedLLM,
    monkeypatch: pytest.MonkeyPatch,
    stream: bool,
) -> None:
    for name, value in (("REGION", "us-east-1"), ("ACCESS_KEY_ID", "a"), ("SECRET_ACCESS_KEY", "b")):
        monkeypatch.setenv(f"AWS_{name}", value)
    await use(client, scripted_llm, CLAUDE_AT_BEDROCK)
    scripted_llm.script(calls(("look", {"at": "it"}), thinking_blocks=(SIGNED,)), say("Done."))
    first = await _told(program, HELLO, stream, thinking=ENABLED)

    assert first[0] == SIGNED
    result = {"type": "tool_result", "tool_use_id": first[-1]["id"], "content": "a door"}
    talk = [*HELLO, {"role": "assistant", "content": first}, {"role": "user", "content": [result]}]
    await _told(program, talk, stream, thinking=ENABLED)
    for asked in scripted_llm.requests:
        assert asked.body["additionalModelRequestFields"]["thinking"] == ENABLED
        accept(asked.route, asked.body)
    assert "c2lnbmVk" in str(scripted_llm.requests[1].body["messages"][1])


async def test_a_program_that_did_not_ask_gets_no_thinking(
    client: httpx.AsyncClient, program: Program, scripted_llm: ScriptedLLM
) -> None:
    await use(client, scripted_llm, "deepseek/deepseek-reasoner")
    scripted_llm.script(*[say("Hi.", reasoning="A greeting.")] * 2)
    for stream in (False, True):
        assert [block["type"] for block in await _told(program, HELLO, stream)] == ["text"]


async def test_unsigned_and_foreign_thoughts_are_left_out(
    client: httpx.AsyncClient, program: Program, scripted_llm: ScriptedLLM
) -> None:
    await use(client, scripted_llm, "openai/gpt-5")
    scripted_llm.script(say("Yes."))
    earlier = [SIGNED, {"type": "redacted_thinking", "data": "c2VjcmV0"}, {"type": "text", "text": "Hi."}]
    talk = [*HELLO, {"role": "assistant", "content": earlier}, *HELLO]
    await _told(program, talk, False)
    assert scripted_llm.requests[0].messages[1] == {"role": "assistant", "content": "Hi."}


async def _told(program: Program, messages: list[Any], stream: bool, **given: Any) -> list[dict[str, Any]]:
    """Sends the messages. Returns the content blocks of the reply, as the `anthropic` package reads them.

    given: further arguments of the call.
    """
    given = {"model": "any", "max_tokens": 20_000, "messages": messages, "tools": [LOOK], **given}
    if not stream:
        reply = await program.anthropic.messages.create(**given)
    else:
        async with program.anthropic.messages.stream(**given) as events:
            reply = await events.get_final_message()
    return [block.to_dict() for block in reply.content]
