"""Sends requests in OpenAI's two protocols (chat completions and Responses) over HTTP, to OpenAI and to all
compatible servers.
"""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import orjson

from agent_runtime.calls_in_text.surrogates import without_lone_surrogates
from agent_runtime.llm import chat_completions, responses
from agent_runtime.llm.capabilities import capabilities
from agent_runtime.llm.config import LLM, MASK
from agent_runtime.llm.dialect import Dialect, OnPiece
from agent_runtime.llm.errors import (
    LLMConnectionError,
    LLMError,
    LLMTimeoutError,
    error_for_status,
    error_of_kind,
)
from agent_runtime.llm.lenient_json import decode
from agent_runtime.llm.messages import Prompt, Reply
from agent_runtime.metering.lenient_numbers import a_dict
from agent_runtime.vendors import OPENAI_COMPATIBLE, OPENAI_URL, OTHER_PROTOCOLS, retry_after_seconds

if TYPE_CHECKING:
    import httpx

CONNECT_TIMEOUT_SECONDS = 15
MAX_ERROR_BYTES = 64 * 1024


def serves(llm: LLM, *, is_brokered: bool) -> bool:
    """Returns whether this module can send requests to the model. `is_brokered`: whether the requests go
    through the app server, which accepts OpenAI's protocol for every vendor.
    """
    vendor = _vendor(llm)
    if vendor in OTHER_PROTOCOLS:
        return is_brokered
    return bool(llm.base_url or OPENAI_COMPATIBLE.get(vendor))


def base_url(llm: LLM) -> str:
    return (llm.base_url or OPENAI_COMPATIBLE.get(_vendor(llm)) or OPENAI_URL).rstrip("/")


def dialect_of(llm: LLM) -> Dialect:
    """Returns the protocol for requests to this model: `responses` or `chat_completions`. If a protocol is
    configured (`llm.api_mode`), returns it.

    Otherwise, returns `responses` if two conditions are met. First, the model works better with it. Second,
    the server is known to have it: it is OpenAI's own server, or `llm.capability_overrides` contains
    `supports_responses_api`. Else returns `chat_completions`.
    """
    is_openai = base_url(llm) == OPENAI_URL or "supports_responses_api" in llm.capability_overrides
    wants_responses = llm.api_mode == "auto" and is_openai and capabilities(llm).prefers_responses
    return responses if llm.api_mode == "responses" or wants_responses else chat_completions


async def request(
    http: "httpx.AsyncClient", llm: LLM, prompt: Prompt, *, bearer: str | None, on_piece: OnPiece
) -> Reply:
    """Sends the prompt to the model once and returns the reply. If `llm.stream` is set, calls `on_piece` with
    each piece of the reply as it arrives. `bearer`: the key for the header Authorization; None means that
    this header is not sent. Raises LLMError, and no other error, if the request fails.
    """
    import httpx  # 2 MB that a standby server does not need

    dialect = dialect_of(llm)
    try:
        async with http.stream(
            "POST",
            f"{base_url(llm)}{dialect.PATH}",
            content=dialect.encode(llm, prompt, _name(llm)),
            headers=_headers(llm, bearer),
            timeout=_timeout(llm),
        ) as response:
            if response.status_code != httpx.codes.OK:
                raise await _refusal(response, bearer)
            if response.headers.get("content-type", "").startswith("text/event-stream"):
                return await _read_stream(dialect, response, on_piece)
            return _parse_reply(dialect, await response.aread())
    except httpx.TimeoutException as error:
        raise LLMTimeoutError(f"The model did not answer in time ({type(error).__name__}).") from error
    except (httpx.TransportError, httpx.InvalidURL, httpx.DecodingError) as error:
        raise LLMConnectionError(f"The model's server cannot be reached: {error}") from error


def _vendor(llm: LLM) -> str:
    prefix, slash, _ = llm.model.partition("/")
    return prefix if slash else ""


def _name(llm: LLM) -> str:
    """Returns the model's name at its server, without the vendor prefix that the runtime uses."""
    return llm.model.removeprefix(f"{_vendor(llm)}/") if _vendor(llm) in OPENAI_COMPATIBLE else llm.model


def _headers(llm: LLM, bearer: str | None) -> dict[str, str]:
    headers = {**(llm.extra_headers or {}), "Content-Type": "application/json"}
    return {**headers, "Authorization": f"Bearer {bearer}"} if bearer else headers


def _timeout(llm: LLM) -> "httpx.Timeout":
    import httpx  # as above

    read = llm.stream_idle_timeout if llm.stream else llm.timeout
    return httpx.Timeout(read, connect=CONNECT_TIMEOUT_SECONDS)


async def _refusal(response: "httpx.Response", bearer: str | None) -> LLMError:
    received = b""
    async for chunk in response.aiter_bytes():
        received += chunk
        if len(received) > MAX_ERROR_BYTES:
            break
    detail = _error_text(received)
    if bearer:
        # Some vendors repeat the key they refuse.
        detail = detail.replace(bearer, MASK)
    retry_after = retry_after_seconds(response.headers, received.decode(errors="replace"))
    return error_for_status(response.status_code, detail, retry_after_seconds=retry_after)


def _error_text(body: bytes) -> str:
    try:
        decoded = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.decode(errors="replace").strip() or "no explanation"
    return _explanation(decoded) if isinstance(decoded, dict) else str(decoded)


def _explanation(decoded: dict[str, Any]) -> str:
    error = decoded.get("error", decoded)
    if not isinstance(error, dict):
        return str(error)
    text = str(error.get("message") or error.get("detail") or error)
    # The code is added, because the message alone can be ambiguous.
    return f"{text} ({error['code']})" if isinstance(error.get("code"), str) else text


def _reported(decoded: dict[str, Any]) -> LLMError:
    """Returns the LLMError for an error that a server sent in place of a reply, or in the middle of a reply.
    `decoded`: the JSON object from the server, with the error in its field `error`.
    """
    return error_of_kind(without_lone_surrogates(_explanation(decoded)), a_dict(decoded["error"]).get("code"))


async def _read_stream(dialect: Dialect, response: "httpx.Response", on_piece: OnPiece) -> Reply:
    reply = dialect.stream(on_piece)
    async for data in _server_sent_data(response):
        if data == "[DONE]":
            break
        chunk = decode(data)
        if chunk.get("error"):
            raise _reported(chunk)
        reply.add(chunk)
    else:
        if not reply.is_finished:
            raise LLMConnectionError("The model's reply broke off.")
    return reply.build()


async def _server_sent_data(response: "httpx.Response") -> AsyncIterator[str]:
    async for line in response.aiter_lines():
        if line.startswith("data:"):
            yield line.removeprefix("data:").strip()


def _parse_reply(dialect: Dialect, body: bytes) -> Reply:
    decoded = decode(body)
    if decoded.get("error"):
        raise _reported(decoded)
    return dialect.parse(decoded)
