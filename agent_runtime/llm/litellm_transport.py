"""Vendors with a protocol of their own, through litellm, off the event loop and only when one is asked."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
from pydantic import SecretStr

from agent_runtime.llm.capabilities import capabilities
from agent_runtime.llm.chat_completions import parse
from agent_runtime.llm.config import LLM, MASK
from agent_runtime.llm.errors import LLMConnectionError, LLMNotAvailableError, error_for_status
from agent_runtime.llm.messages import Prompt, Reply
from agent_runtime.llm.outgoing import outgoing

# Threads of their own: a slow vendor must not use up those that everybody shares.
_THREADS = ThreadPoolExecutor(max_workers=64, thread_name_prefix="litellm")


async def request(llm: LLM, prompt: Prompt) -> Reply:
    """One attempt, not streamed. Raises only LLMError."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, _request, llm, prompt)


def _request(llm: LLM, prompt: Prompt) -> Reply:
    litellm = _import_litellm()
    try:
        completion = litellm.completion(**_arguments(llm, prompt))
    except Exception as error:
        # litellm's errors share no base class, only the HTTP status they stand for.
        status = getattr(error, "status_code", None)
        detail = _without_key(llm, f"{type(error).__name__}: {error}")
        if isinstance(status, int):
            raise error_for_status(status, detail, retry_after_seconds=_retry_after(error)) from error
        raise LLMConnectionError(detail) from error
    return parse(completion.model_dump())


def _import_litellm() -> Any:
    # 4.4 CPU seconds and 190 MB: never at start. Without the setting it fetches a price list while it loads.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        import litellm
    except ImportError as error:
        raise LLMNotAvailableError(
            "This model's vendor needs the package litellm, which is not installed here. "
            "Install it, or give the model a `base_url` that speaks the OpenAI protocol."
        ) from error
    # It would print advice to standard output with every failure.
    litellm.suppress_debug_info = True
    # After a change of models the history has replies without the new one's signed thinking: not an error.
    litellm.modify_params = True
    return litellm


def _arguments(llm: LLM, prompt: Prompt) -> dict[str, Any]:
    optional = {
        "api_key": _revealed(llm.api_key),
        "base_url": llm.base_url,
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
        "extra_headers": llm.extra_headers,
        "extra_body": llm.litellm_extra_body or None,
    }
    return {
        "model": llm.model,
        "messages": [orjson.loads(message) for message in outgoing(prompt.messages, capabilities(llm))],
        "timeout": llm.timeout,
        "num_retries": 0,
        "drop_params": True,
        **{name: value for name, value in optional.items() if value is not None},
    }


def _retry_after(error: Exception) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return float(headers["retry-after"])
    except (KeyError, ValueError):
        return None


def _without_key(llm: LLM, text: str) -> str:
    for secret in (llm.api_key, llm.aws_secret_access_key, llm.aws_session_token):
        if secret is not None:
            text = text.replace(secret.get_secret_value(), MASK)
    return text


def _revealed(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None
