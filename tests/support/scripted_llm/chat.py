"""Encodes a turn as an answer of OpenAI's chat completions."""

import time
from collections.abc import Iterator
from typing import Any

from tests.support.scripted_llm.turns import Request, Turn, new_id, split


def _finish_reason(turn: Turn) -> str:
    if turn.finish_reason is not None:
        return turn.finish_reason
    return "tool_calls" if turn.tool_calls else "stop"


def whole(turn: Turn, request: Request) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.reasoning:
        message["reasoning_content"] = turn.reasoning
    if turn.thinking_blocks:
        message["thinking_blocks"] = list(turn.thinking_blocks)
    if turn.tool_calls:
        message["tool_calls"] = list(turn.tool_calls)
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(turn)}
    return {
        "id": new_id("chatcmpl"),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.body.get("model"),
        "choices": [choice],
        "usage": _usage(turn),
    }


def pieces(turn: Turn, request: Request) -> Iterator[dict[str, Any]]:
    """Yields the chunks of a streamed completion, without the final `[DONE]`."""
    frame = {
        "id": new_id("chatcmpl"),
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": request.body.get("model"),
    }
    for delta in _deltas(turn):
        yield {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish_reason(turn)}]}
    if request.body.get("stream_options", {}).get("include_usage"):
        yield {**frame, "choices": [], "usage": _usage(turn)}


def _deltas(turn: Turn) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for piece in split(turn.reasoning, turn.piece_chars):
        yield {"reasoning_content": piece}
    for block in turn.thinking_blocks:
        yield {"thinking_blocks": [block]}
    for piece in split(turn.text, turn.piece_chars):
        yield {"content": piece}
    for index, tool_call in enumerate(turn.tool_calls):
        function = tool_call["function"]
        head = {"index": index, "id": tool_call["id"], "type": "function"}
        yield {"tool_calls": [{**head, "function": {"name": function["name"], "arguments": ""}}]}
        for piece in split(function["arguments"], turn.piece_chars):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _usage(turn: Turn) -> dict[str, Any]:
    return {
        "prompt_tokens": turn.prompt_tokens,
        "completion_tokens": turn.completion_tokens,
        "total_tokens": turn.prompt_tokens + turn.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": turn.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": turn.reasoning_tokens},
    }
