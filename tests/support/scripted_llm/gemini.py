"""Encodes a turn as an answer of Gemini's `generateContent`, and checks it with the types of Google's
package.
"""

import json
from collections.abc import Iterator
from typing import Any

from tests.support.scripted_llm.turns import Request, Turn, new_id, split


def whole(turn: Turn, request: Request) -> dict[str, Any]:
    return _reply([*_thoughts(turn), *_texts(turn.text), *_calls(turn)], turn)


def pieces(turn: Turn, request: Request) -> Iterator[dict[str, Any]]:
    """Yields the replies of a stream. Each tool call comes in one piece, as Gemini sends it."""
    for thought in split(turn.reasoning, turn.piece_chars):
        yield _reply([{"text": thought, "thought": True}])
    for text in split(turn.text, turn.piece_chars):
        yield _reply(_texts(text))
    yield _reply(_calls(turn), turn)


def _thoughts(turn: Turn) -> list[dict[str, Any]]:
    return [{"text": turn.reasoning, "thought": True}] if turn.reasoning else []


def _texts(text: str) -> list[dict[str, Any]]:
    return [{"text": text}] if text else []


def _calls(turn: Turn) -> list[dict[str, Any]]:
    """Returns the parts with the tool calls. Only the first of parallel calls has a signature."""
    parts: list[dict[str, Any]] = [
        {"functionCall": {"name": called["function"]["name"], "args": _arguments(called)}}
        for called in turn.tool_calls
    ]
    if parts and turn.signature:
        parts[0]["thoughtSignature"] = turn.signature
    return parts


def _arguments(called: dict[str, Any]) -> Any:
    return json.loads(called["function"]["arguments"])


def _reply(parts: list[dict[str, Any]], last_of: Turn | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    reply: dict[str, Any] = {"candidates": [candidate], "responseId": new_id("gemini")}
    if last_of is not None:
        candidate["finishReason"] = "STOP"
        reply["usageMetadata"] = {
            "promptTokenCount": last_of.prompt_tokens,
            "candidatesTokenCount": last_of.completion_tokens - last_of.reasoning_tokens,
            "thoughtsTokenCount": last_of.reasoning_tokens,
            "cachedContentTokenCount": last_of.cached_tokens,
            "totalTokenCount": last_of.prompt_tokens + last_of.completion_tokens,
        }
    from google.genai import types  # takes a second, and few tests need it

    typed = types.GenerateContentResponse.model_validate(reply)
    return typed.model_dump(mode="json", by_alias=True, exclude_none=True)
