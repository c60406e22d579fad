"""State that a vendor returns is sent back to this vendor unchanged, and is not sent to any other vendor."""

from typing import Any

import orjson
import pytest
from anthropic.types import MessageParam
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import TypeAdapter

from agent_runtime.conversation.model_switch import switch_llm
from agent_runtime.llm.call_ids import limit_of
from tests.agent_runtime.conversation.conftest import Conversations, of_kind, user
from tests.support.scripted_llm import ScriptedLLM, Turn, call, calls, raw, say

SIGNATURE = "c2lnbmF0dXJl" * 20
LONG_ID = f"call_1__thought__{SIGNATURE}"
STATE = {
    "extra_content": {"google": {"thought_signature": SIGNATURE}},
    "provider_specific_fields": {"thought_signature": SIGNATURE},
}
DETAILS = [
    {"type": "reasoning.text", "index": 0, "text": "Let me think.", "signature": "c2ln", "format": "x"},
    {"type": "reasoning.encrypted", "index": 1, "data": "aGlkZGVu", "id": "rs_1"},
]
THINK = {"name": "think", "arguments": '{"thought":"x"}'}


def whole(message: dict[str, Any], call_id: str = "call_1", **state: Any) -> Turn:
    """Returns a reply in the types of OpenAI's package. message, state: fields that other vendors add to the
    message and to its tool call.
    """
    tool_call = {"id": call_id, "type": "function", "function": THINK, **state}
    said = {"role": "assistant", "content": None, "tool_calls": [tool_call], **message}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": said}
    reply = ChatCompletion.model_validate(
        {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    )
    return raw(reply.model_dump_json().encode())


def streamed(*deltas: dict[str, Any]) -> Turn:
    chunks = [
        ChatCompletionChunk.model_validate(
            {
                "id": "c",
                "object": "chat.completion.chunk",
                "created": 0,
                "model": "m",
                "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
            }
        )
        for delta in deltas
    ]
    ended = b'{"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}'
    return raw(b"\n\ndata: ".join([*(chunk.model_dump_json().encode() for chunk in chunks), ended]))


async def sent_after(
    conversations: Conversations, turn: Turn, model: str, *, then: str | None = None, stream: bool = False
) -> list[dict[str, Any]]:
    """Plays the reply `turn` of `model` and returns the messages of the last request. then: the model to
    which the conversation is switched before this request; None: the conversation stays with `model`.
    """
    llm = conversations.llm
    llm.script(turn, say("Done."), say("Done."))
    conversation = conversations.create(llm={"model": model, "stream": stream})
    conversation.send(user("Go."))
    await conversation.run()
    if then is not None:
        changed = conversation.agent.llm.model_copy(update={"model": then})
        switch_llm(conversation, changed)
        conversation.send(user("Go on."))
        await conversation.run()
    return llm.requests[-1].messages


async def test_an_id_that_carries_a_signature_goes_back_whole(conversations: Conversations):
    sent = await sent_after(conversations, whole({}, LONG_ID, **STATE), "gemini-proxy/gemini-3-pro")

    (called,) = sent[2]["tool_calls"]
    assert called == {"id": LONG_ID, "type": "function", "function": THINK, **STATE}
    assert sent[3]["tool_call_id"] == LONG_ID
    assert "vendor_state" not in str(sent)


async def test_another_vendor_gets_a_short_id_and_no_signature(conversations: Conversations):
    sent = await sent_after(
        conversations, whole({}, LONG_ID, **STATE), "proxy/gemini-3-pro", then="openai/gpt-4.1"
    )

    (called,) = sent[2]["tool_calls"]
    assert set(called) == {"id", "type", "function"}
    assert len(called["id"]) <= 40
    assert sent[3]["tool_call_id"] == called["id"]
    assert SIGNATURE not in str(sent)


async def test_streamed_reasoning_details_are_put_together(conversations: Conversations):
    turn = streamed(
        {"reasoning": "Let me ", "reasoning_details": [{**DETAILS[0], "text": "Let me ", "signature": None}]},
        {"reasoning": "think.", "reasoning_details": [{**DETAILS[0], "text": "think."}]},
        {"reasoning_details": [DETAILS[1]]},
        {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": THINK}]},
    )
    model = "openrouter/anthropic/claude-sonnet-4.5"

    assert (await sent_after(conversations, turn, model, stream=True))[2]["reasoning_details"] == DETAILS


async def test_another_vendor_gets_no_reasoning_details(conversations: Conversations):
    turn = whole({"reasoning": "Let me think.", "reasoning_details": DETAILS})
    model = "openrouter/google/gemini-3-pro"

    sent = await sent_after(conversations, turn, model, then="openrouter/anthropic/claude-sonnet-4.5")

    assert set(sent[2]) == {"role", "content", "tool_calls"}


@pytest.mark.parametrize(
    ("model", "field", "reasoning"),
    [
        ("deepseek/deepseek-reasoner", "reasoning_content", ""),
        ("deepseek/deepseek-reasoner", "reasoning_content", "Because."),
        ("groq/gpt-oss-120b", "reasoning", "Because."),
        ("proxy/qwen3-max", "reasoning_content", "Because."),
    ],
)
async def test_reasoning_goes_back_where_it_stood_also_when_it_is_empty(
    conversations: Conversations, model: str, field: str, reasoning: str
):
    sent = await sent_after(conversations, whole({field: reasoning}), model)

    assert sent[2][field] == reasoning
    assert {"reasoning", "reasoning_content"} & sent[2].keys() == {field}


async def test_calls_of_another_model_have_a_reasoning_for_those_that_demand_one(
    conversations: Conversations,
):
    turn = whole({"reasoning_content": "Because."})

    sent = await sent_after(
        conversations, turn, "moonshot/kimi-k2-thinking", then="deepseek/deepseek-reasoner"
    )

    assert sent[2]["reasoning_content"] == " "


async def test_signed_thinking_of_another_vendor_is_not_sent_to_claude(conversations: Conversations):
    blocks = ({"type": "thinking", "thinking": "Hm.", "signature": "Z2VtaW5p"},)
    turn = calls(("think", {"thought": "x"}), thinking_blocks=blocks)

    sent = await sent_after(conversations, turn, "proxy/gemini-3-pro", then="litellm_proxy/claude-sonnet-4-5")

    assert "thinking_blocks" not in sent[2]


async def test_a_state_that_is_not_json_is_not_kept(conversations: Conversations):
    body = orjson.dumps({"choices": [{"message": {"content": "Hi", "extra_content": {"a": "HALF"}}}]})
    conversations.llm.script(raw(body.replace(b"HALF", rb"\ud83d")))
    conversation = conversations.create(llm={"stream": False})
    conversation.send(user("Go."))

    await conversation.run()

    assert "vendor_state" not in of_kind(conversation, "MessageEvent")[1]["llm_message"]


@pytest.mark.parametrize(
    ("model", "pattern"),
    [
        ("mistral/devstral", r"[A-Za-z0-9]{9}"),
        ("proxy/claude-sonnet-4-5", r"[A-Za-z0-9_-]{1,64}"),
        ("openai/gpt-4.1", r".{1,40}"),
    ],
)
async def test_ids_are_shortened_where_a_vendor_limits_them(
    conversations: Conversations, model: str, pattern: str
):
    turn = call("think", call_id=f"functions.think:{'0' * 40}", thought="x")

    sent = await sent_after(conversations, turn, "moonshot/kimi-k2", then=model)

    limit = limit_of(model)
    assert limit is not None
    assert limit.accepted.pattern == pattern
    (called,) = sent[2]["tool_calls"]
    assert limit.accepted.fullmatch(called["id"])
    assert sent[3]["tool_call_id"] == called["id"]


async def test_a_secret_in_a_state_takes_the_state_along(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(whole({"reasoning_details": [{"type": "reasoning.text", "text": "s3cr3t-value-77"}]}))
    conversation = conversations.create(
        llm={"model": "openrouter/x/y", "stream": False},
        secrets={"TOKEN": {"kind": "StaticSecret", "value": "s3cr3t-value-77"}},
    )
    scripted_llm.script(say("Done."))
    conversation.send(user("Go."))

    await conversation.run()

    assert "reasoning_details" not in scripted_llm.requests[1].messages[2]
    assert "s3cr3t" not in str(scripted_llm.requests[1].body)


@pytest.mark.filterwarnings("ignore")
async def test_anthropics_own_types_accept_a_history_of_another_vendor(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(whole({}, LONG_ID, **STATE), say("Done."), say("Done."))
    conversation = conversations.create(llm={"model": "proxy/gemini-3-pro", "stream": False})
    conversation.send(user("Go."))
    await conversation.run()
    root = scripted_llm.base_url.removesuffix("/v1")
    claude = {"model": "anthropic/claude-sonnet-4-5", "base_url": root}
    switch_llm(conversation, conversation.agent.llm.model_copy(update=claude))
    conversation.send(user("Go on."))

    await conversation.run()

    sent = scripted_llm.requests[-1].body["messages"]
    TypeAdapter(list[MessageParam]).validate_python(sent)
    assert SIGNATURE not in str(sent)


@pytest.mark.parametrize("api_mode", ["chat", "responses"])
@pytest.mark.parametrize(
    ("fields", "is_sent"),
    [
        ({"model": "openai/gpt-4.1"}, True),
        ({"model": "openai/gpt-4.1", "caching_prompt": False}, False),
        ({"model": "moonshot/kimi-k2"}, True),
        ({"model": "openai/local"}, False),
        ({"model": "mistral/devstral"}, False),
    ],
)
async def test_calls_of_a_conversation_share_a_cache_key(
    conversations: Conversations,
    scripted_llm: ScriptedLLM,
    api_mode: str,
    fields: dict[str, Any],
    is_sent: bool,
):
    scripted_llm.script(say("Done."))
    conversation = conversations.create(llm={**fields, "api_mode": api_mode})
    conversation.send(user("Go."))

    await conversation.run()

    key = scripted_llm.requests[0].body.get("prompt_cache_key")
    assert key == (str(conversation.id) if is_sent else None)


async def test_a_signed_block_with_a_secret_is_dropped_and_not_changed(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    good = {"type": "thinking", "thinking": "Well.", "signature": "c2ln"}
    bad = {"type": "thinking", "thinking": "It is s3cr3t-value-77.", "signature": "c2ln"}
    scripted_llm.script(calls(("think", {"thought": "x"}), thinking_blocks=(good, bad)), say("Done."))
    secret = {"TOKEN": {"kind": "StaticSecret", "value": "s3cr3t-value-77"}}
    conversation = conversations.create(
        llm={"model": "proxy/claude-sonnet-4-5", "stream": False}, secrets=secret
    )
    conversation.send(user("Go."))

    await conversation.run()

    assert scripted_llm.requests[1].messages[2]["thinking_blocks"] == [good]
