"""Converts chat completions to replies of the Messages protocol: whole replies, streams and errors."""

from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import uuid4

import orjson
from fastapi import Response
from fastapi.responses import JSONResponse

from agent_runtime.metering.lenient_numbers import a_dict
from agent_runtime.metering.token_counts import Usage, usage_of
from app_server.core.errors import AppError
from app_server.llm_gateway.protocols import thinking
from app_server.llm_gateway.protocols.converted import ConvertedReply

_REASONS = {"length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_CUT_OFF = frozenset(("length", "content_filter"))
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    503: "overloaded_error",
    529: "overloaded_error",
}


def error_reply(error: AppError) -> Response:
    """Returns an error of this server in the JSON format that Anthropic's packages read. The field `code`
    contains the stable code of the error.
    """
    text = f"{error.detail} {error.fix}" if error.fix else error.detail
    content = _error(error.status, text)
    content["error"]["code"] = error.code
    return JSONResponse(content, error.status, headers=dict(error.headers or {}))


class MessagesReply(ConvertedReply):
    """An HTTP response that converts a chat completion to a reply of the Messages protocol while it is sent.
    `model`: the name of the model that the converted reply states. `shows_thinking`: whether the program
    asked for thinking blocks.
    """

    def __init__(self, response: Response, model: str, *, shows_thinking: bool) -> None:
        document = partial(_document, model, shows_thinking)
        super().__init__(response, lambda: _Events(model, shows_thinking), document)


def error_of(status: int, content: bytes) -> dict[str, Any]:
    """Converts a vendor's error reply to Anthropic's error format and returns it. `content`: the body that
    the vendor sent.
    """
    return _error(status, _words_of(_decoded(content)) or content[:1000].decode(errors="replace"))


def _document(model: str, shows_thinking: bool, status: int, content: bytes) -> tuple[int, dict[str, Any]]:
    if status >= 400:
        return status, error_of(status, content)
    reply = _decoded(content)
    choice = _first(reply)
    message = a_dict(choice.get("message"))
    text = message.get("content") or message.get("refusal")
    blocks: list[dict[str, Any]] = thinking.blocks_of(message) if shows_thinking else []
    blocks += [{"type": "text", "text": text}] if text else []
    blocks += [
        {"type": "tool_use", "id": each.get("id"), "name": function.get("name"), "input": _input(function)}
        for each, function in _calls(message)
    ]
    return status, {
        **_frame(reply, model),
        "content": blocks,
        "stop_reason": "refusal"
        if message.get("refusal")
        else _reason(choice.get("finish_reason"), is_call=bool(_calls(message))),
        "usage": _usage(usage_of(a_dict(reply.get("usage")))),
    }


class _Events:
    """A converter from the chunks of a chat completion to the events of one streamed reply of the Messages
    protocol.
    """

    def __init__(self, model: str, shows_thinking: bool) -> None:
        self._model = model
        self._shows_thinking = shows_thinking
        self._line = b""
        self._is_begun = self._is_over = self._is_refused = False
        self._open: tuple[str, int] | None = None
        self._index = -1
        self._reason = "end_turn"
        self._used = Usage()

    def feed(self, piece: bytes, *, is_last: bool) -> Iterator[bytes]:
        *lines, self._line = (self._line + piece).split(b"\n")
        for line in lines:
            content = line.strip()
            if content.startswith(b"data:") and not self._is_over:
                yield from self._read(content.removeprefix(b"data:").strip())
        if is_last and not self._is_over:
            yield from self._failed("The model's reply broke off.")

    def _read(self, content: bytes) -> Iterator[bytes]:
        if content == b"[DONE]":
            yield from self._ended()
            return
        chunk = _decoded(content)
        if "error" in chunk:
            yield from self._failed(_words_of(chunk) or "The model's vendor failed.")
            return
        if not self._is_begun:
            self._is_begun = True
            begun = {**_frame(chunk, self._model), "content": [], "stop_reason": None}
            yield _event("message_start", message={**begun, "usage": _usage(Usage())})
        if used := a_dict(chunk.get("usage")):
            self._used = usage_of(used)
        choice = _first(chunk)
        delta = a_dict(choice.get("delta"))
        if self._shows_thinking:
            yield from self._thoughts(thinking.blocks_of(delta), delta)
        self._is_refused |= bool(delta.get("refusal"))
        if text := delta.get("content") or delta.get("refusal"):
            yield from self._in(("text", 0), {"type": "text", "text": ""})
            yield self._delta({"type": "text_delta", "text": text})
        for number, (each, function) in enumerate(_calls(delta)):
            index = each.get("index")
            which = ("tool_use", index if isinstance(index, int) else number)
            begun = {"type": "tool_use", "id": each.get("id"), "name": function.get("name"), "input": {}}
            yield from self._in(which, begun)
            if arguments := function.get("arguments"):
                yield self._delta({"type": "input_json_delta", "partial_json": arguments})
        if reason := choice.get("finish_reason"):
            # Some servers state `stop` after calls of tools.
            is_call = self._open is not None and self._open[0] == "tool_use"
            self._reason = "refusal" if self._is_refused else _reason(reason, is_call=is_call)

    def _thoughts(self, blocks: list[dict[str, Any]], delta: dict[str, Any]) -> Iterator[bytes]:
        pieces = delta.get("thinking_blocks") or [{}]
        for block, piece in zip(blocks, pieces, strict=False):
            index = a_dict(piece).get("index")
            which = (block["type"], index if isinstance(index, int) else 0)
            if block["type"] == "redacted_thinking":
                yield from self._in(which, block)
                continue
            yield from self._in(which, {"type": "thinking", "thinking": "", "signature": ""})
            if block["thinking"]:
                yield self._delta({"type": "thinking_delta", "thinking": block["thinking"]})
            if block["signature"]:
                yield self._delta({"type": "signature_delta", "signature": block["signature"]})

    def _in(self, which: tuple[str, int], block: dict[str, Any]) -> Iterator[bytes]:
        """Makes a content block of the reply the open one, and yields the events for this. These are the
        event that closes the block before, if one is open, and the event that begins the new block. Yields
        nothing if the block is open already.

        `which`: identifies the block by its type and its number in the vendor's stream. `block`: the first
        content of the new block.
        """
        if self._open == which:
            return
        yield from self._close()
        self._open = which
        self._index += 1
        yield _event("content_block_start", index=self._index, content_block=block)

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event("content_block_delta", index=self._index, delta=delta)

    def _close(self) -> Iterator[bytes]:
        if self._open is not None:
            self._open = None
            yield _event("content_block_stop", index=self._index)

    def _ended(self) -> Iterator[bytes]:
        self._is_over = True
        yield from self._close()
        delta = {"stop_reason": self._reason, "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage=_usage(self._used))
        yield _event("message_stop")

    def _failed(self, words: str) -> Iterator[bytes]:
        self._is_over = True
        yield _event("error", error={"type": "api_error", "message": words})


def _event(kind: str, **content: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), orjson.dumps({"type": kind, **content}))


def _frame(reply: dict[str, Any], model: str) -> dict[str, Any]:
    return {
        "id": str(reply.get("id") or f"msg_{uuid4().hex}"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "stop_sequence": None,
    }


def _usage(used: Usage) -> dict[str, int]:
    """Converts the token usage to Anthropic's fields. `input_tokens` does not include the tokens that were
    read from the cache or written to it.
    """
    read, written = used.cache_read_tokens, used.cache_write_tokens
    return {
        "input_tokens": max(0, used.prompt_tokens - read - written),
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "output_tokens": used.completion_tokens,
    }


def _reason(finish_reason: Any, *, is_call: bool) -> str:
    # A call that was cut off must not look complete: its program would run it with half of its arguments.
    if is_call and finish_reason not in _CUT_OFF:
        return "tool_use"
    return _REASONS.get(str(finish_reason), "end_turn")


def _calls(message: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    calls = message.get("tool_calls")
    found = [a_dict(each) for each in calls] if isinstance(calls, list) else []
    return [(each, a_dict(each.get("function"))) for each in found]


def _input(function: dict[str, Any]) -> dict[str, Any]:
    return _decoded(str(function.get("arguments") or "{}").encode())


def _first(reply: dict[str, Any]) -> dict[str, Any]:
    choices = reply.get("choices")
    return a_dict(choices[0]) if isinstance(choices, list) and choices else {}


def _words_of(reply: dict[str, Any]) -> str:
    error = reply.get("error")
    return str(a_dict(error).get("message") or error or "")


def _error(status: int, words: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": _ERRORS.get(status, "api_error"), "message": words}}


def _decoded(content: bytes) -> dict[str, Any]:
    try:
        return a_dict(orjson.loads(content))
    except orjson.JSONDecodeError:
        return {}
