"""Tests of which parts of a program's prompt are masked, and which parts go back to the vendor unchanged."""

import base64
from typing import Any

import orjson
import pytest

from agent_runtime.secrets.masking import MASK, Masker
from agent_runtime.server.outgoing.prompt_masking import PromptMasking

SECRET = "s3cr3t-Value-0451"
OTHER = "an0ther-Value-7788"
# A secret can have a value that is a word of the protocols.
WORD = "user"
CODED = base64.b64encode(SECRET.encode()).decode()


@pytest.fixture
def masker() -> Masker:
    masker = Masker()
    masker.learn([SECRET, WORD])
    return masker


def sent(masker: Masker, prompt: dict[str, Any]) -> dict[str, Any]:
    body = PromptMasking(lambda: masker).masked(orjson.dumps(prompt))
    found: dict[str, Any] = orjson.loads(body)
    return found


def test_texts_of_a_chat_completion_are_masked_and_its_form_stays(masker: Masker) -> None:
    function = {"name": "run", "arguments": orjson.dumps({"env": [SECRET, 7]}).decode()}
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{CODED}"}}
    prompt = {
        "model": WORD,
        "messages": [
            {"role": "system", "content": f"The key is {SECRET}."},
            {"role": "user", "content": [{"type": "text", "text": CODED}, image]},
            {"role": "assistant", "tool_calls": [{"id": SECRET, "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": SECRET, "content": "\n".join(SECRET)},
        ],
        "tools": [{"type": "function", "function": {"name": "run", "description": SECRET,
                   "parameters": {"type": "object", "required": [WORD], "properties": {WORD: {}}}}}],
    }  # fmt: skip
    got = sent(masker, prompt)

    system, user, assistant, tool = got["messages"]
    assert system["content"] == f"The key is {MASK}."
    assert user == {"role": "user", "content": [{"type": "text", "text": MASK}, image]}
    (call,) = assistant["tool_calls"]
    assert (call["id"], call["type"]) == (SECRET, "function")
    assert orjson.loads(call["function"]["arguments"]) == {"env": [MASK, 7]}
    assert tool == {"role": "tool", "tool_call_id": SECRET, "content": MASK}
    (described,) = got["tools"]
    assert described["function"]["description"] == MASK
    assert described["function"]["parameters"] == {
        "type": "object", "required": [WORD], "properties": {WORD: {}},
    }  # fmt: skip
    assert got["model"] == WORD


def test_arguments_stay_json_if_the_secret_is_a_part_of_their_syntax(masker: Masker) -> None:
    masker.learn(["48151623"])
    function = {"name": "open", "arguments": '{"pin": 48151623}'}
    prompt = {"messages": [{"role": "assistant", "tool_calls": [{"id": "1", "function": function}]}]}
    got = sent(masker, prompt)
    assert got["messages"][0]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_texts_of_responses_are_masked_and_encrypted_reasoning_stays(masker: Masker) -> None:
    reasoning = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": f"x{CODED}"}
    file = {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{CODED}"}
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{CODED}"}
    prompt = {
        "instructions": SECRET,
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": SECRET}, file, image]},
            reasoning,
            {"type": "function_call", "call_id": "c", "name": "run", "arguments": f'{{"a":"{SECRET}"}}'},
            {"type": "function_call_output", "call_id": "c", "output": f"{SECRET}\n"},
            {"type": "custom_tool_call", "call_id": "d", "name": "patch", "input": f"+{SECRET}"},
        ],
        "include": ["reasoning.encrypted_content"],
    }
    got = sent(masker, prompt)
    said, kept, call, output, patch = got["input"]
    assert got["instructions"] == MASK
    assert said == {"role": "user", "content": [{"type": "input_text", "text": MASK}, file, image]}
    assert kept == reasoning
    assert call["arguments"] == f'{{"a":"{MASK}"}}'
    assert (output["output"], patch["input"]) == (f"{MASK}\n", f"+{MASK}")
    assert sent(masker, {"input": SECRET}) == {"input": MASK}


def test_texts_of_anthropic_are_masked_and_signed_thinking_stays(masker: Masker) -> None:
    signed = {"type": "thinking", "thinking": f"I saw {SECRET}", "signature": CODED}
    hidden = {"type": "redacted_thinking", "data": CODED}
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": CODED}}
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": SECRET}}
    prompt = {
        "system": [{"type": "text", "text": SECRET, "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [picture, document]},
            {"role": "assistant", "content": [
                signed, hidden, {"type": "thinking", "thinking": SECRET, "signature": ""},
                {"type": "tool_use", "id": "t", "name": "run", "input": {SECRET: 1, "name": [SECRET]}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": SECRET}]},
            ]},
        ],
    }  # fmt: skip
    got = sent(masker, prompt)
    asked, answered, result = got["messages"]
    assert got["system"] == [{"type": "text", "text": MASK, "cache_control": {"type": "ephemeral"}}]
    assert asked["content"][0] == picture
    assert asked["content"][1]["source"]["data"] == MASK
    assert answered["content"][:2] == [signed, hidden]
    assert answered["content"][2]["thinking"] == MASK
    assert answered["content"][3]["input"] == {MASK: 1, "name": [MASK]}
    assert result["content"][0]["content"] == [{"type": "text", "text": MASK}]


@pytest.mark.parametrize(
    "body", [b'{ "messages": [{"role": "user", "content": "hello"}], "seed": 1e2 }', b"[1", b'["s3cr3t"]']
)
def test_a_body_without_a_secret_keeps_each_byte(masker: Masker, body: bytes) -> None:
    assert PromptMasking(lambda: masker).masked(body) is body


def test_a_text_is_searched_again_when_a_value_was_learnt(masker: Masker) -> None:
    masking = PromptMasking(lambda: masker)
    body = orjson.dumps({"messages": [{"role": "user", "content": f"one {OTHER}"}, {"content": "two"}]})
    assert masking.masked(body) == body
    assert masking.masked(body) == body
    masker.learn([OTHER])
    got = orjson.loads(masking.masked(body))
    assert [one["content"] for one in got["messages"]] == [f"one {MASK}", "two"]
