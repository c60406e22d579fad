"""Encodes a turn as an answer of OpenAI's Responses API."""

import time
from collections.abc import Iterator
from typing import Any

from tests.support.scripted_llm.turns import Request, Turn, new_id, split


def whole(turn: Turn, request: Request) -> dict[str, Any]:
    is_cut = turn.finish_reason == "length"
    return {
        "id": new_id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "model": request.body.get("model"),
        "status": "incomplete" if is_cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "error": None,
        "output": _output(turn),
        "usage": {
            "input_tokens": turn.prompt_tokens,
            "input_tokens_details": {"cached_tokens": turn.cached_tokens},
            "output_tokens": turn.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": turn.reasoning_tokens},
            "total_tokens": turn.prompt_tokens + turn.completion_tokens,
        },
    }


def _output(turn: Turn) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if turn.reasoning or turn.encrypted_reasoning:
        summary = [{"type": "summary_text", "text": turn.reasoning}] if turn.reasoning else []
        encrypted = turn.encrypted_reasoning or None
        reasoning = {"type": "reasoning", "summary": summary, "encrypted_content": encrypted}
        items.append({"id": new_id("rs"), **reasoning})
    if turn.text:
        parts = [{"type": "output_text", "text": turn.text, "annotations": []}]
        said = {"type": "message", "role": "assistant", "status": "completed", "content": parts}
        items.append({"id": new_id("msg"), **said})
    for call in turn.tool_calls:
        asked = {"type": "function_call", "call_id": call["id"], "status": "completed", **call["function"]}
        items.append({"id": new_id("fc"), **asked})
    return items


def pieces(turn: Turn, request: Request) -> Iterator[dict[str, Any]]:
    """Yields the events of a streamed response."""
    response = whole(turn, request)
    yield {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}
    for index, item in enumerate(response["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "content": []}}
        for kind, text in _streamed_texts(item):
            for piece in split(text, turn.piece_chars):
                yield {"type": kind, "item_id": item["id"], "output_index": index, "delta": piece}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _streamed_texts(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    match item["type"]:
        case "reasoning":
            yield from (("response.reasoning_summary_text.delta", part["text"]) for part in item["summary"])
        case "message":
            yield from (("response.output_text.delta", part["text"]) for part in item["content"])
        case _:
            yield "response.function_call_arguments.delta", item["arguments"]
