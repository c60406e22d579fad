"""Encodes a turn as an answer of Bedrock's Converse API, and in the binary frames in which AWS streams it."""

import json
from binascii import crc32
from collections.abc import Iterator
from struct import pack
from typing import Any

from tests.support.scripted_llm.turns import Request, Turn, split


def whole(turn: Turn, request: Request) -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": _content(turn)}},
        "stopReason": _stop_reason(turn),
        "usage": _usage(turn),
        "metrics": {"latencyMs": 1},
    }


def pieces(turn: Turn, request: Request) -> Iterator[dict[str, Any]]:
    """Yields the events of a stream. Each is an object whose only key is the kind of the event."""
    yield {"messageStart": {"role": "assistant"}}
    for index, block in enumerate(_content(turn)):
        if "toolUse" in block:
            head = {name: block["toolUse"][name] for name in ("toolUseId", "name")}
            yield {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": head}}}
        for delta in _deltas(block, turn.piece_chars):
            yield {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}
        yield {"contentBlockStop": {"contentBlockIndex": index}}
    yield {"messageStop": {"stopReason": _stop_reason(turn)}}
    yield {"metadata": {"usage": _usage(turn), "metrics": {"latencyMs": 1}}}


def framed(piece: dict[str, Any]) -> bytes:
    """Returns an event in the binary frame of `application/vnd.amazon.eventstream`."""
    ((kind, content),) = piece.items()
    named = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(_header(name, value) for name, value in named.items())
    payload = json.dumps(content).encode()
    sizes = pack(">II", len(headers) + len(payload) + 16, len(headers))
    frame = sizes + pack(">I", crc32(sizes)) + headers + payload
    return frame + pack(">I", crc32(frame))


def _header(name: str, value: str) -> bytes:
    text_kind = 7
    return pack(">B", len(name)) + name.encode() + pack(">BH", text_kind, len(value)) + value.encode()


def _content(turn: Turn) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = [
        {"reasoningContent": {"reasoningText": {"text": block["thinking"], "signature": block["signature"]}}}
        for block in turn.thinking_blocks
    ]
    if turn.text:
        content.append({"text": turn.text})
    for called in turn.tool_calls:
        function = called["function"]
        used = {
            "toolUseId": called["id"],
            "name": function["name"],
            "input": json.loads(function["arguments"]),
        }
        content.append({"toolUse": used})
    return content


def _deltas(block: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    if "text" in block:
        yield from ({"text": piece} for piece in split(block["text"], size))
    elif "toolUse" in block:
        written = json.dumps(block["toolUse"]["input"])
        yield from ({"toolUse": {"input": piece}} for piece in split(written, size))
    else:
        reasoning = block["reasoningContent"]["reasoningText"]
        yield from ({"reasoningContent": {"text": piece}} for piece in split(reasoning["text"], size))
        yield {"reasoningContent": {"signature": reasoning["signature"]}}


def _stop_reason(turn: Turn) -> str:
    return "tool_use" if turn.tool_calls else "end_turn"


def _usage(turn: Turn) -> dict[str, Any]:
    return {
        "inputTokens": turn.prompt_tokens - turn.cached_tokens,
        "outputTokens": turn.completion_tokens,
        "cacheReadInputTokens": turn.cached_tokens,
        "cacheWriteInputTokens": 0,
        "totalTokens": turn.prompt_tokens + turn.completion_tokens,
    }
