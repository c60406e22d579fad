"""Chat completions over HTTP, as spoken by OpenAI and by everybody who is compatible with it."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
import orjson

from agent_runtime.llm.config import LLM, MASK
from agent_runtime.llm.errors import (
    LLMConnectionError,
    LLMError,
    LLMMalformedReplyError,
    LLMServiceUnavailableError,
    LLMTimeoutError,
    error_for_status,
)
from agent_runtime.llm.messages import PieceKind, Prompt, Reply, RequestedCall, Usage

CONNECT_TIMEOUT_SECONDS = 15
MAX_ERROR_BYTES = 64 * 1024
_PREFIX = "openai/"
_DEFAULT_BASE_URL = "https://api.openai.com/v1"

OnPiece = Callable[[PieceKind, str], None]


def serves(llm: LLM) -> bool:
    """Whether this transport can ask the model: it has a base URL, or is called `openai/...`."""
    return bool(llm.base_url) or llm.model.startswith(_PREFIX)


def base_url(llm: LLM) -> str:
    return (llm.base_url or _DEFAULT_BASE_URL).rstrip("/")


async def request(
    http: httpx.AsyncClient, llm: LLM, prompt: Prompt, *, bearer: str | None, on_piece: OnPiece
) -> Reply:
    """One attempt. Pieces are told as they come when `llm.stream`; raises only LLMError."""
    try:
        async with http.stream(
            "POST",
            f"{base_url(llm)}/chat/completions",
            content=_body(llm, prompt),
            headers=_headers(llm, bearer),
            timeout=_timeout(llm),
        ) as response:
            if response.status_code != httpx.codes.OK:
                raise await _refusal(response, bearer)
            if response.headers.get("content-type", "").startswith("text/event-stream"):
                return await _read_stream(response, on_piece)
            return _parse_completion(await response.aread())
    except httpx.TimeoutException as error:
        raise LLMTimeoutError(f"The model did not answer in time ({type(error).__name__}).") from error
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise LLMConnectionError(f"The model's server cannot be reached: {error}") from error


def _body(llm: LLM, prompt: Prompt) -> bytes:
    # Messages arrive encoded and are joined, so that a call does not encode the whole history again.
    head = orjson.dumps(_parameters(llm, prompt))
    return head[:-1] + b',"messages":[' + b",".join(prompt.messages) + b"]}"


def _parameters(llm: LLM, prompt: Prompt) -> dict[str, Any]:
    optional = {
        "temperature": llm.temperature,
        "top_p": llm.top_p,
        "max_completion_tokens": llm.max_output_tokens,
        "reasoning_effort": llm.reasoning_effort,
        "tools": list(prompt.tools) or None,
        "stream": True if llm.stream else None,
        "stream_options": {"include_usage": True} if llm.stream else None,
    }
    given = {name: value for name, value in optional.items() if value is not None}
    return {**llm.litellm_extra_body, "model": llm.model.removeprefix(_PREFIX), **given}


def _headers(llm: LLM, bearer: str | None) -> dict[str, str]:
    headers = {**(llm.extra_headers or {}), "Content-Type": "application/json"}
    return {**headers, "Authorization": f"Bearer {bearer}"} if bearer else headers


def _timeout(llm: LLM) -> httpx.Timeout:
    read = llm.stream_idle_timeout if llm.stream else llm.timeout
    return httpx.Timeout(read, connect=CONNECT_TIMEOUT_SECONDS)


async def _refusal(response: httpx.Response, bearer: str | None) -> LLMError:
    received = b""
    async for chunk in response.aiter_bytes():
        received += chunk
        if len(received) > MAX_ERROR_BYTES:
            break
    detail = _error_text(received)
    if bearer:
        # Some vendors repeat the key they refuse.
        detail = detail.replace(bearer, MASK)
    retry_after = _seconds(response.headers.get("retry-after"))
    return error_for_status(response.status_code, detail, retry_after_seconds=retry_after)


def _error_text(body: bytes) -> str:
    try:
        decoded = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.decode(errors="replace").strip() or "no explanation"
    if not isinstance(decoded, dict):
        return str(decoded)
    error = decoded.get("error", decoded)
    if isinstance(error, dict):
        return str(error.get("message") or error.get("detail") or error)
    return str(error)


def _seconds(value: str | None) -> float | None:
    try:
        return float(value) if value else None
    except ValueError:
        return None  # the HTTP-date form: our own back-off serves as well


async def _read_stream(response: httpx.Response, on_piece: OnPiece) -> Reply:
    reply = _ReplyBuilder()
    async for data in _server_sent_data(response):
        if data == "[DONE]":
            return reply.build()
        try:
            reply.add(_decode(data), on_piece)
        except (AttributeError, TypeError, KeyError) as error:
            raise LLMMalformedReplyError("The model's server sent a chunk in no known shape.") from error
    if not reply.is_finished:
        raise LLMConnectionError("The model's reply broke off.")
    return reply.build()


async def _server_sent_data(response: httpx.Response) -> AsyncIterator[str]:
    async for line in response.aiter_lines():
        if line.startswith("data:"):
            yield line.removeprefix("data:").strip()


@dataclass
class _PartialCall:
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass
class _ReplyBuilder:
    """Puts the chunks of a streamed reply together."""

    id: str = ""
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[int, _PartialCall] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    is_finished: bool = False

    def add(self, chunk: dict[str, Any], on_piece: OnPiece) -> None:
        if chunk.get("error"):
            raise LLMServiceUnavailableError(_error_text(orjson.dumps(chunk)))
        self.id = self.id or str(chunk.get("id") or "")
        if chunk.get("usage"):
            self.usage = _usage(chunk["usage"])
        for choice in (chunk.get("choices") or [])[:1]:
            self._add_delta(choice.get("delta") or {}, on_piece)
            self.is_finished = self.is_finished or bool(choice.get("finish_reason"))

    def _add_delta(self, delta: dict[str, Any], on_piece: OnPiece) -> None:
        if reasoning := delta.get("reasoning_content") or delta.get("reasoning"):
            self.reasoning.append(reasoning)
            on_piece("reasoning", reasoning)
        if text := delta.get("content"):
            self.text.append(text)
            on_piece("text", text)
        for position, part in enumerate(delta.get("tool_calls") or []):
            self._add_call(part.get("index", position), part)

    def _add_call(self, index: int, part: dict[str, Any]) -> None:
        call = self.calls.setdefault(index, _PartialCall())
        function = part.get("function") or {}
        call.id = call.id or part.get("id") or ""
        call.name += function.get("name") or ""
        call.arguments += function.get("arguments") or ""

    def build(self) -> Reply:
        calls = tuple(
            RequestedCall(call.id or _new_call_id(), call.name, call.arguments)
            for _, call in sorted(self.calls.items())
        )
        text, reasoning = "".join(self.text), "".join(self.reasoning)
        return Reply(self.id or _new_reply_id(), text, reasoning, calls, self.usage)


def _parse_completion(body: bytes) -> Reply:
    decoded = _decode(body)
    if decoded.get("error"):
        raise LLMServiceUnavailableError(_error_text(body))
    return parse_reply(decoded)


def parse_reply(completion: dict[str, Any]) -> Reply:
    """A decoded chat completion as a Reply. LLMMalformedReplyError when it is none."""
    try:
        message = completion["choices"][0]["message"]
        calls = tuple(
            RequestedCall(
                call.get("id") or _new_call_id(),
                call["function"]["name"],
                call["function"]["arguments"] or "",
            )
            for call in message.get("tool_calls") or []
        )
        text = message.get("content") or ""
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise LLMMalformedReplyError("The model's server sent a reply without a message.") from error
    reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
    return Reply(
        id=str(completion.get("id") or _new_reply_id()),
        text=text,
        reasoning=reasoning,
        tool_calls=calls,
        usage=_usage(completion.get("usage") or {}),
    )


def _decode(data: bytes | str) -> dict[str, Any]:
    try:
        decoded = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise LLMMalformedReplyError("The model's server sent something that is not JSON.") from error
    if not isinstance(decoded, dict):
        raise LLMMalformedReplyError("The model's server sent JSON that is not an object.")
    return decoded


def _usage(usage: dict[str, Any]) -> Usage:
    prompt = usage.get("prompt_tokens_details") or {}
    completion = usage.get("completion_tokens_details") or {}
    cost = usage.get("cost")
    return Usage(
        prompt_tokens=usage.get("prompt_tokens") or 0,
        completion_tokens=usage.get("completion_tokens") or 0,
        cache_read_tokens=prompt.get("cached_tokens") or 0,
        cache_write_tokens=usage.get("cache_creation_input_tokens") or 0,
        reasoning_tokens=completion.get("reasoning_tokens") or 0,
        cost=float(cost) if isinstance(cost, int | float) else None,
    )


def _new_call_id() -> str:
    return f"call_{uuid4().hex[:24]}"


def _new_reply_id() -> str:
    return f"chatcmpl-{uuid4().hex}"
