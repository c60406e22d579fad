"""Sends requests to models whose vendor does not use OpenAI's protocols. The library litellm makes the calls,
in an event loop of a separate thread. litellm is loaded at the first call.
"""

import asyncio
import threading
from functools import cache
from typing import Any

import orjson
from pydantic import SecretStr

from agent_runtime import litellm_calls
from agent_runtime.catalogue.parameters import thinking_budget
from agent_runtime.llm.chat_completions import ChatCompletionStream, parse
from agent_runtime.llm.config import LLM, MASK
from agent_runtime.llm.dialect import OnPiece
from agent_runtime.llm.errors import LLMConnectionError, LLMError, LLMNotAvailableError, error_for_status
from agent_runtime.llm.messages import PieceKind, Prompt, Reply
from agent_runtime.llm.outgoing import outgoing

_starting = threading.Lock()


async def request(llm: LLM, prompt: Prompt, on_piece: OnPiece) -> Reply:
    """Sends the prompt to the model once and returns the reply. If the call is cancelled, the connection is
    closed. If `llm.stream` is set, calls `on_piece` with each piece of the reply as it arrives.

    Raises LLMError, and no other error, if the request fails.
    """
    home = asyncio.get_running_loop()

    def tell(kind: PieceKind, content: str) -> None:
        home.call_soon_threadsafe(deliver, kind, content)

    def deliver(kind: PieceKind, content: str) -> None:
        # Pieces that arrive after the call was cancelled are dropped.
        if not asked.cancelled():
            on_piece(kind, content)

    asked = asyncio.run_coroutine_threadsafe(_request(llm, prompt, tell), _loop_of_vendors())
    return await asyncio.wrap_future(asked)


def _loop_of_vendors() -> asyncio.AbstractEventLoop:
    with _starting:
        return started_loop()


@cache
def started_loop() -> asyncio.AbstractEventLoop:
    """Returns the event loop for model calls through litellm. The first call starts the loop in a separate
    thread; later calls return the same loop. In this loop, a library that blocks does not delay the main
    event loop.
    """
    loop = asyncio.new_event_loop()
    # A program that ends in the middle of a call must not wait for it.
    threading.Thread(target=loop.run_forever, name="litellm", daemon=True).start()
    return loop


async def _request(llm: LLM, prompt: Prompt, on_piece: OnPiece) -> Reply:
    litellm = _loaded()
    try:
        completion = await litellm.acompletion(**_arguments(llm, prompt))
        if not llm.stream:
            return parse(completion.model_dump())
        reply = ChatCompletionStream(on_piece)
        async for chunk in completion:
            reply.add(chunk.model_dump())
        return reply.build()
    except LLMError:
        raise
    except Exception as error:
        # litellm's errors share no base class, only the HTTP status they stand for.
        status = litellm_calls.status_of(error)
        refusal = litellm_calls.refusal_in(error)
        detail = _without_key(llm, f"{type(refusal).__name__}: {litellm_calls.words_of(refusal)}")
        if status is not None:
            wait = litellm_calls.retry_after(error)
            raise error_for_status(status, detail, retry_after_seconds=wait) from error
        raise LLMConnectionError(detail) from error


def _loaded() -> Any:
    try:
        return litellm_calls.load()
    except ImportError as error:
        raise LLMNotAvailableError(
            "This model's vendor needs the package litellm, which is not installed here. "
            "Install it, or give the model a `base_url` that speaks the OpenAI protocol."
        ) from error


def _arguments(llm: LLM, prompt: Prompt) -> dict[str, Any]:
    return litellm_calls.arguments(
        llm.model,
        [orjson.loads(message) for message in outgoing(prompt.messages, llm)],
        base_url=llm.base_url,
        api_key=_revealed(llm.api_key),
        timeout_seconds=llm.stream_idle_timeout if llm.stream else llm.timeout,
        options={
            "api_version": llm.api_version,
            "aws_access_key_id": _revealed(llm.aws_access_key_id),
            "aws_secret_access_key": _revealed(llm.aws_secret_access_key),
            "aws_session_token": _revealed(llm.aws_session_token),
            "aws_region_name": llm.aws_region_name,
            "aws_profile_name": llm.aws_profile_name,
            "aws_role_name": llm.aws_role_name,
            "aws_session_name": llm.aws_session_name,
            "aws_bedrock_runtime_endpoint": llm.aws_bedrock_runtime_endpoint,
            "temperature": llm.temperature,
            "top_p": llm.top_p,
            "max_tokens": llm.max_output_tokens,
            "reasoning_effort": llm.reasoning_effort,
            "stop": llm.stop,
            "tools": list(prompt.tools) or None,
            "stream": llm.stream,
            "stream_options": {"include_usage": True} if llm.stream else None,
            "extra_headers": llm.extra_headers,
            "extra_body": llm.litellm_extra_body or None,
            **thinking_budget(llm.model, llm.thinking_budget),
        },
    )


def _without_key(llm: LLM, text: str) -> str:
    for secret in (llm.api_key, llm.aws_secret_access_key, llm.aws_session_token):
        if secret is not None:
            text = text.replace(secret.get_secret_value(), MASK)
    return text


def _revealed(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None
