"""Contains functions for calls of the library litellm: they load the library, build the arguments of a call,
and read the errors of a call. Two parts of Slipway use these functions: the agent engine, and the gateway of
the app server that forwards requests to models.

This module does not make the calls, because the two parts make them in different ways. The engine must be
able to cancel a call. The gateway must limit a call to the network addresses of the vendor.
"""

import os
from collections.abc import Mapping
from typing import Any

from agent_runtime.vendors import retry_after_seconds

_ERRORS = range(400, 600)


def load() -> Any:
    """Imports litellm, applies Slipway's settings and returns the module. The first import takes 4.4 s of CPU
    time and 190 MB, so no server imports litellm at its start. Raises ImportError if litellm is not
    installed.
    """
    # Without this, litellm fetches a price list over the network while it is imported.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    # Without this, litellm prints advice to standard output with every failure.
    litellm.suppress_debug_info = True
    # The aiohttp transport drops connections without closing them.
    litellm.disable_aiohttp_transport = True
    # Without this, litellm fetches tokenizers to count tokens, although the vendor counts them.
    litellm.disable_hf_tokenizer_download = True
    # After a change of models, older replies lack the new model's signed thinking. With this setting, litellm
    # does not treat that as an error.
    litellm.modify_params = True
    return litellm


def arguments(
    model: str,
    messages: list[dict[str, Any]],
    *,
    base_url: str | None,
    api_key: str | None,
    timeout_seconds: float | None,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns the keyword arguments for one call of litellm's completion function. They tell litellm not to
    repeat a failed call, and to drop request fields that the vendor does not support.

    `model`: the model's name in litellm's form. `messages`: the chat messages of the prompt. `base_url`,
    `api_key`: the address of the vendor's API and its key; None means litellm's default. `timeout_seconds`:
    None means litellm's default. `options`: additional fields of the chat completion request; fields that are
    None are left out.
    """
    given = {"base_url": base_url, "api_key": api_key, **options}
    return {
        **{name: value for name, value in given.items() if value is not None},
        "model": model,
        "messages": messages,
        "timeout": timeout_seconds,
        "num_retries": 0,
        # Otherwise the `openai` package, which litellm uses for Azure, repeats failed calls by itself.
        "max_retries": 0,
        "drop_params": True,
    }


def status_of(error: Exception) -> int | None:
    """Returns the HTTP status of an error that litellm raised, or None if the error has no HTTP status of 400
    or more.
    """
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and status in _ERRORS else None


def refusal_in(error: Exception) -> Exception:
    """Returns the exception that describes the vendor's HTTP reply. If a vendor refuses a request during a
    stream, litellm raises an exception without HTTP headers that wraps the vendor's exception. In this case,
    the function returns the wrapped exception; otherwise, it returns `error` itself.
    """
    original = getattr(error, "original_exception", None)
    return original if isinstance(original, Exception) else error


def words_of(refusal: Exception) -> str:
    """Returns the message of an exception of litellm, without the traceback that litellm may add."""
    return str(refusal).partition("\nTraceback ")[0]


def headers_of(error: Exception) -> dict[str, str]:
    """Returns the HTTP headers of the model vendor's error reply, with names in lower case. Returns an empty
    mapping if the error contains no headers.
    """
    headers = getattr(refusal_in(error), "litellm_response_headers", None) or {}
    return {name.lower(): value for name, value in headers.items()}


def retry_after(error: Exception) -> float | None:
    """Returns how many seconds the vendor asks the caller to wait before the next request. The vendor states
    this in the headers or the text of its error. Returns None if the vendor states no time.
    """
    return retry_after_seconds(headers_of(error), words_of(refusal_in(error)))
