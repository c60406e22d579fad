"""Encodes a turn as an answer of Anthropic's messages API."""

import json
from collections.abc import Iterator
from typing import Any

from tests.support.scripted_llm.turns import Request, Turn, new_id, split


def whole(turn: Turn, request: Request) -> dict[str, Any]:
    content: list[dict[str, Any]] = [*turn.thinking_blocks]
    if turn.text:
        content.append({"type": "text", "text": turn.text})
    for call in turn.tool_calls:
        function = call["function"]
        arguments = json.loads(function["arguments"])
        content.append({"type": "tool_use", "id": call["id"], "name": function["name"], "input": arguments})
    return {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model"),
        "content": content,
        "stop_reason": "tool_use" if turn.tool_calls else "end_turn",
        "usage": {
            "input_tokens": turn.prompt_tokens - turn.cached_tokens,
            "output_tokens": turn.completion_tokens,
            "cache_read_input_tokens": turn.cached_tokens,
            "cache_creation_input_tokens": 0,
        },
    }


def pieces(turn: Turn, request: Request) -> Iterator[dict[str, Any]]:
    """Yields the events of a streamed message."""
    message = whole(turn, request)
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        empty, deltas = _block(block, turn.piece_chars)
        yield {"type": "content_block_start", "index": index, "content_block": {**block, **empty}}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    usage = {"output_tokens": turn.completion_tokens}
    yield {"type": "message_delta", "delta": ending, "usage": usage}
    yield {"type": "message_stop"}


def _block(block: dict[str, Any], size: int) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Returns the empty fields with which a streamed block starts, and the deltas that fill them."""
    match block["type"]:
        case "thinking":
            pieces = [{"type": "thinking_delta", "thinking": p} for p in split(block["thinking"], size)]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {"thinking": "", "signature": ""}, [*pieces, signed]
        case "text":
            return {"text": ""}, [{"type": "text_delta", "text": p} for p in split(block["text"], size)]
        case "tool_use":
            written = json.dumps(block["input"])
            pieces = [{"type": "input_json_delta", "partial_json": p} for p in split(written, size)]
            return {"input": {}}, pieces
        case _:
            return {}, []
