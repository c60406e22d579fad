"""Tests of how tool calls are read from text, with the public data set canitoolcall: real texts of models,
and the calls that each text means.
"""

import json
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Any

import orjson
import pytest

from agent_runtime.calls_in_text.arguments import object_of
from agent_runtime.llm import prompted_tools
from agent_runtime.llm.complete import LLMClient
from agent_runtime.llm.config import LLM
from agent_runtime.llm.messages import PieceKind, Prompt, Reply
from agent_runtime.metering.token_counts import Usage
from tests.support.scripted_llm import ScriptedLLM, calls

# Calls as data: a call's name and its arguments.
Calls = list[tuple[str, dict[str, Any]]]

READ = {
    "deepseek": 66,
    "gemma4": 37,
    "glm": 42,
    "gpt-oss": 35,
    "kimi": 35,
    "llama": 26,
    "mistral": 37,
    "qwen3-hermes": 33,
    "qwen3-xml": 48,
}
"""The number of replies with calls in the data, by model family. All of them must be read exactly."""

# Only the last bracket of these calls is missing. The engine adds it and runs the call; the data expects a
# refusal.
REPAIRED = {"deepseek/vllm-v3-malformed-missing-brace", "qwen3-hermes/vllm-invalid-json-missing-brace"}


@cache
def recorded() -> list[dict[str, Any]]:
    data = files("canitoolcall").joinpath("_data", "fixtures")
    return [
        json.loads(line)
        for family in data.iterdir()
        if family.is_dir()
        for part in family.iterdir()
        if part.name.endswith(".jsonl")
        for line in part.read_text(encoding="utf-8").splitlines()
    ]


def expected(one: dict[str, Any]) -> Calls:
    stated = (one.get("expected") or {}).get("tool_calls") or []
    return [(call["name"], call["arguments"]) for call in stated]


def read(one: dict[str, Any]) -> Calls:
    """Returns the calls that would run. A call with unreadable arguments is left out, because it gets an
    error instead.
    """
    was_cut = "truncated" in one["tags"]
    reply = Reply("r", one["raw_output"], "", (), Usage(), was_cut=was_cut)
    found = prompted_tools.read(reply, one["tools"]).tool_calls
    decoded = [(call.name, object_of(call.arguments)) for call in found]
    return [(name, arguments) for name, arguments in decoded if arguments is not None]


def same(found: Calls, wanted: Calls) -> bool:
    """Returns whether both lists of calls are equal, including the types: 3 is not "3", and true is not 1."""
    return json.dumps(found, sort_keys=True) == json.dumps(wanted, sort_keys=True)


def test_calls_in_the_markup_of_a_model_are_read_exactly() -> None:
    right, wrong = Counter[str](), dict[str, tuple[Calls, Calls]]()
    for one in recorded():
        if wanted := expected(one):
            found = read(one)
            if same(found, wanted):
                right[one["family"]] += 1
            else:
                wrong[one["id"]] = (found, wanted)

    assert wrong == {}
    assert right == READ
    assert right == Counter(one["family"] for one in recorded() if expected(one))


def test_nothing_runs_that_was_cut_off_malformed_or_only_talked_about() -> None:
    without = [one for one in recorded() if not expected(one)]
    assert len(without) > 100
    assert {one["id"] for one in without if read(one)} == REPAIRED


def test_the_markup_of_a_call_is_not_streamed() -> None:
    markers = ("<tool_call", "<invoke", "<function", "[TOOL_CALLS]", "DSML", "<\uff5ctool", "<|tool_call")
    markers += ("<|open|>call", "to=functions.")
    for one in recorded():
        shown: list[str] = []

        def show(_: PieceKind, content: str, shown: list[str] = shown) -> None:
            shown.append(content)

        take = prompted_tools.until_call(show)
        for begin in range(0, len(one["raw_output"]), 3):
            take("text", one["raw_output"][begin : begin + 3])
        assert not [marker for marker in markers if marker in "".join(shown)], one["id"]


def harmony_replies() -> list[dict[str, Any]]:
    return [one for one in recorded() if one["family"] == "gpt-oss"]


def test_text_and_reasoning_of_harmony_are_read_exactly() -> None:
    stated = [one for one in harmony_replies() if one.get("expected")]
    assert len(stated) > 35
    for one in stated:
        reply = prompted_tools.read(Reply("r", one["raw_output"], "", (), Usage()), one["tools"])
        wanted = one["expected"]
        # Text that a model writes after a call is dropped, because the model cannot know the result yet.
        text = "" if "text-after-call" in one["tags"] else wanted["content"] or ""
        assert (reply.text, reply.reasoning) == (text, wanted["reasoning_content"] or ""), one["id"]


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_no_token_of_harmony_is_shown_or_streamed(size: int) -> None:
    for one in harmony_replies():
        shown = {"text": "", "reasoning": ""}

        def show(kind: PieceKind, content: str, shown: dict[str, str] = shown) -> None:
            shown[kind] += content

        take = prompted_tools.until_call(prompted_tools.without_tokens(show))
        raw = one["raw_output"]
        for begin in range(0, len(raw), size):
            take("text", raw[begin : begin + size])
        reply = prompted_tools.read(Reply("r", raw, "", (), Usage()), one["tools"])
        for said, streamed in ((reply.text, shown["text"]), (reply.reasoning, shown["reasoning"])):
            # In one text, the model's reasoning mentions a token of the format. This is not a leaked token.
            is_mentioned = "marker-in-reasoning" in one["id"] and said == reply.reasoning
            assert is_mentioned or "<|" not in said + streamed, one["id"]
            # The last characters of a stream may be withheld, but the complete message contains them.
            assert said.startswith(streamed.strip()), one["id"]


@pytest.mark.parametrize(
    "text", ["The token `<|channel|>` begins a channel.", " <", "to be or <|end|>", "{}"]
)
def test_a_text_that_only_mentions_harmony_stays_as_it_is(text: str) -> None:
    assert prompted_tools.read(Reply("r", text, "before", (), Usage()), []).text == text
    shown: list[str] = []
    take = prompted_tools.without_tokens(lambda _, content: shown.append(content))
    for letter in f"{text}.":
        take("text", letter)
    assert "".join(shown) == f"{text}."


@pytest.mark.parametrize("api_mode", ["chat", "responses"])
async def test_calls_that_a_server_streams_arrive_as_they_are(
    scripted_llm: ScriptedLLM, api_mode: str
) -> None:
    wanted = [call for one in recorded() for call in expected(one) if call[0].isidentifier()][:60]
    scripted_llm.script(calls(*wanted, piece_chars=3))
    llm = LLM.model_validate(
        {
            "model": "openai/scripted",
            "base_url": scripted_llm.base_url,
            "api_key": scripted_llm.api_key,
            "api_mode": api_mode,
        }
    )
    client = LLMClient()
    try:
        prompt = Prompt(messages=[orjson.dumps({"role": "user", "content": "Go."})])
        reply = await client.complete(llm, prompt)
    finally:
        await client.close()

    assert same([(one.name, json.loads(one.arguments)) for one in reply.tool_calls], wanted)
