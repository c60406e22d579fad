"""Converts replies of OpenAI's Responses protocol to replies of chat completions: whole replies, streams and
errors.
"""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import uuid4

import orjson
from fastapi import Response

from agent_runtime.metering.lenient_numbers import a_dict
from agent_runtime.metering.token_counts import Usage, usage_of_response
from app_server.llm_gateway.protocols.converted import ConvertedReply
from app_server.llm_gateway.protocols.reasoning_details import detail

_BAD_GATEWAY = 502
_MAX_EVENT_BYTES = 16 * 1024**2
_ENDINGS = frozenset(("response.completed", "response.incomplete"))
_CALLS = {"function_call": ("function", "arguments"), "custom_tool_call": ("custom", "input")}
_CALL_DELTAS = frozenset(("response.function_call_arguments.delta", "response.custom_tool_call_input.delta"))
_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


class ChatReply(ConvertedReply):
    """An HTTP response that converts a reply of the Responses protocol to a reply of a chat completion while
    it is sent.

    `response`: the response to convert. `model`: the model name that the converted reply states. `made_by`:
    the name of the model at the vendor. The converted reply contains it next to the model's reasoning. A
    later call sends the reasoning only to the same model, because no other model can read it.
    """

    def __init__(self, response: Response, model: str, made_by: str) -> None:
        super().__init__(response, lambda: _Chunks(model, made_by), partial(_document, model, made_by))


def _document(model: str, made_by: str, status: int, content: bytes) -> tuple[int, dict[str, Any]]:
    reply = _decoded(content)
    if status >= 400:
        words = content[:1000].decode(errors="replace")
        return status, {"error": reply.get("error") or {"message": words, "type": "api_error"}}
    if not isinstance(reply.get("output"), list) or reply.get("status") == "failed":
        return _BAD_GATEWAY, _failure(a_dict(reply.get("error")))
    output = [a_dict(item) for item in reply["output"]]
    parts = [part for item in output if item.get("type") == "message" for part in _dicts(item.get("content"))]
    calls = [_call(item) for item in output if item.get("type") in _CALLS]
    message: dict[str, Any] = {
        "role": "assistant",
        "content": "".join(str(part.get("text") or "") for part in parts) or None,
        "refusal": "".join(str(part.get("refusal") or "") for part in parts) or None,
    }
    if calls:
        message["tool_calls"] = calls
    if details := [found for n, item in enumerate(output) if (found := detail(item, n, made_by))]:
        message["reasoning_details"] = details
    choice = {"index": 0, "message": message, "finish_reason": _reason(reply, is_call=bool(calls))}
    return status, {
        **_frame(reply, "chat.completion", model),
        "choices": [{**choice, "logprobs": None}],
        "usage": _usage(usage_of_response(a_dict(reply.get("usage")))),
    }


class _Chunks:
    """A converter from the events of one streamed response to the chunks of a chat completion."""

    def __init__(self, model: str, made_by: str) -> None:
        self._model = model
        self._made_by = made_by
        self._details = 0
        self._line = b""
        self._frame: dict[str, Any] = {}
        self._calls: dict[Any, int] = {}
        """Maps the position of each tool call in the output to the number of the tool call."""
        self._streamed: set[Any] = set()
        """The positions of the output items of which at least one piece was already sent."""
        self._is_over = False

    def feed(self, piece: bytes, *, is_last: bool) -> Iterator[bytes]:
        *lines, rest = (self._line + piece).split(b"\n")
        self._line = rest if len(rest) <= _MAX_EVENT_BYTES else b""
        for line in lines:
            if line.startswith(b"data:") and not self._is_over:
                yield from self._read(_decoded(line.removeprefix(b"data:")))
        if is_last and not self._is_over:
            yield from self._failed({"message": "The model's reply broke off."})

    def _read(self, event: dict[str, Any]) -> Iterator[bytes]:
        kind, position = event.get("type"), event.get("output_index")
        if kind in {"error", "response.failed"}:
            error = a_dict(event.get("response")).get("error") or event.get("error")
            yield from self._failed(a_dict(error) or event)
            return
        if not self._frame:
            self._frame = _frame(a_dict(event.get("response")), "chat.completion.chunk", self._model)
            yield self._chunk({"role": "assistant", "content": ""})
        if kind == "response.output_text.delta":
            self._streamed.add(position)
            yield self._chunk({"content": str(event.get("delta") or "")})
        elif kind == "response.refusal.delta":
            self._streamed.add(position)
            yield self._chunk({"refusal": str(event.get("delta") or "")})
        elif kind == "response.output_item.added":
            yield from self._begun(position, a_dict(event.get("item")))
        elif kind in _CALL_DELTAS and position in self._calls:
            self._streamed.add(position)
            argument = "input" if kind == "response.custom_tool_call_input.delta" else "arguments"
            yield self._continued(position, argument, str(event.get("delta") or ""))
        elif kind == "response.output_item.done":
            yield from self._remaining(position, a_dict(event.get("item")))
        elif kind in _ENDINGS:
            yield from self._ended(a_dict(event.get("response")))

    def _begun(self, position: Any, item: dict[str, Any]) -> Iterator[bytes]:
        if item.get("type") in _CALLS and position not in self._calls:
            kind, argument = _CALLS[item["type"]]
            self._calls[position] = len(self._calls)
            named = {**_call(item), kind: {"name": item.get("name"), argument: ""}}
            yield self._chunk({"tool_calls": [{"index": self._calls[position], **named}]})

    def _remaining(self, position: Any, item: dict[str, Any]) -> Iterator[bytes]:
        """Yields the chunks for those parts of an output item (its reasoning, its text or its tool call) that
        were not streamed before. It is called when the vendor has sent the whole item. Some servers send only
        whole items and stream no parts.

        `position`: the position of the item in the reply. `item`: the whole item.
        """
        if found := detail(item, self._details, self._made_by):
            self._details += 1
            yield self._chunk({"reasoning_details": [found]})
        yield from self._begun(position, item)
        if position in self._streamed:
            return
        if item.get("type") in _CALLS:
            _, argument = _CALLS[item["type"]]
            yield self._continued(position, argument, str(item.get(argument) or ""))
        elif item.get("type") == "message":
            for part in _dicts(item.get("content")):
                if text := part.get("text"):
                    yield self._chunk({"content": str(text)})
                elif refusal := part.get("refusal"):
                    yield self._chunk({"refusal": str(refusal)})

    def _continued(self, position: Any, argument: str, text: str) -> bytes:
        kind = "custom" if argument == "input" else "function"
        return self._chunk({"tool_calls": [{"index": self._calls[position], kind: {argument: text}}]})

    def _ended(self, response: dict[str, Any]) -> Iterator[bytes]:
        self._is_over = True
        yield self._chunk({}, _reason(response, is_call=bool(self._calls)))
        usage = _usage(usage_of_response(a_dict(response.get("usage"))))
        yield _event({**self._frame, "choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"

    def _failed(self, error: dict[str, Any]) -> Iterator[bytes]:
        self._is_over = True
        yield _event(_failure(error))

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return _event({**self._frame, "choices": [choice], "usage": None})


def _call(item: dict[str, Any]) -> dict[str, Any]:
    kind, argument = _CALLS[item["type"]]
    content = {"name": item.get("name"), argument: str(item.get(argument) or "")}
    return {"id": item.get("call_id"), "type": kind, kind: content}


def _reason(response: dict[str, Any], *, is_call: bool) -> str:
    # A call that was cut off must not look complete: its program would run it with half of its arguments.
    cut_by = a_dict(response.get("incomplete_details")).get("reason")
    if response.get("status") == "incomplete":
        return _REASONS.get(str(cut_by), "length")
    return "tool_calls" if is_call else "stop"


def _frame(response: dict[str, Any], kind: str, model: str) -> dict[str, Any]:
    created = response.get("created_at")
    return {
        "id": str(response.get("id") or f"chatcmpl_{uuid4().hex}"),
        "object": kind,
        "created": int(created if isinstance(created, int | float) else time.time()),
        "model": model,
    }


def _usage(used: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.prompt_tokens + used.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": used.cache_read_tokens},
        "completion_tokens_details": {"reasoning_tokens": used.reasoning_tokens},
    }


def _failure(error: dict[str, Any]) -> dict[str, Any]:
    words = str(error.get("message") or "The model's vendor failed.")
    return {"error": {"message": words, "type": "api_error", "code": error.get("code")}}


def _event(content: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(content) + b"\n\n"


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _decoded(content: bytes) -> dict[str, Any]:
    try:
        return a_dict(orjson.loads(content))
    except orjson.JSONDecodeError:
        return {}
