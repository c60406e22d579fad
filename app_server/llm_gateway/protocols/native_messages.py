"""Checks calls in Anthropic's Messages protocol for Anthropic's own models. The call is not translated.
Therefore the thinking blocks with their signatures, the marks of the prompt cache (`cache_control`) and
the vendor's replies do not change. This module does no I/O.

Fields that an agent could use to act outside the sandbox are refused, as in the module `messages`. The field
`metadata` is not passed on, because it names the program's user.
"""

import re
from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import Response
from fastapi.responses import JSONResponse

from agent_runtime.metering.lenient_numbers import a_dict
from app_server.llm_gateway.forwarding.fields import Object
from app_server.llm_gateway.forwarding.vendors import PassThrough, Translated, Vendor
from app_server.llm_gateway.protocols.messages import MessagesFields
from app_server.llm_gateway.protocols.messages_reply import error_of

MESSAGES = "/v1/messages"
COUNT = f"{MESSAGES}/count_tokens"
_ANTHROPIC = "anthropic/"
_URL = "https://api.anthropic.com"
_VERSION = "2023-06-01"
_BETAS = frozenset(
    {
        "claude-code",
        "context-management",
        "effort",
        "extended-cache-ttl",
        "fine-grained-tool-streaming",
        "interleaved-thinking",
        "output-128k",
        "prompt-caching",
        "prompt-caching-scope",
        "structured-outputs",
        "task-budgets",
        "token-efficient-tools",
    }
)
"""The beta features that programs may request, without the dates in their names. Beta features with other
prices, with files that the vendor stores, or with tools that the vendor runs are not allowed.
"""
_DATED = re.compile(r"(.+)-\d{4}-\d{2}-\d{2}", re.ASCII)


class NativeFields(MessagesFields):
    """The allowed fields of a call in Anthropic's Messages protocol that is sent to Anthropic's own models
    without translation. `cache_control`: asks the vendor to store the whole prompt in its prompt cache.
    """

    cache_control: Object | None = None


def native(vendor: Vendor) -> PassThrough | None:
    """Returns the address and the model name for calls in the Messages protocol that are sent without
    translation. Returns None if the model is not one of Anthropic's own.
    """
    if not isinstance(vendor, Translated) or not vendor.model.startswith(_ANTHROPIC):
        return None
    url = (vendor.base_url or _URL).rstrip("/").removesuffix(MESSAGES)
    return PassThrough(url, vendor.model.removeprefix(_ANTHROPIC))


def as_sent(body: dict[str, Any], max_output: int | None) -> dict[str, Any]:
    """Returns the body of a Messages call in the form that is sent to the vendor: without `metadata`, and
    with `max_tokens` limited to `max_output`. `body`: contains only allowed fields. `max_output`: the maximum
    length of the model's replies in tokens; None if it is not known.
    """
    length = min(body["max_tokens"], max_output or body["max_tokens"])
    return {name: value for name, value in body.items() if name != "metadata"} | {"max_tokens": length}


def headers_of(given: Mapping[str, str]) -> dict[str, str]:
    """Returns the headers that Anthropic's Messages protocol needs for a call. They state the version of the
    protocol and the beta features that the program asks for. Beta features that are not allowed are left out.
    `given`: the headers of the program's request.
    """
    betas = [_DATED.fullmatch(name.strip()) for name in given.get("anthropic-beta", "").split(",")]
    allowed = [beta[0] for beta in betas if beta and beta[1] in _BETAS]
    return {"anthropic-version": _VERSION} | ({"anthropic-beta": ",".join(allowed)} if allowed else {})


def with_error(response: Response) -> Response:
    """Returns the response unchanged, unless it is an error response in another format than Anthropic's. Such
    an error response is converted to Anthropic's format.
    """
    if response.status_code < 400:
        return response
    content = bytes(response.body)
    try:
        is_shaped = a_dict(orjson.loads(content)).get("type") == "error"
    except orjson.JSONDecodeError:
        is_shaped = False
    if is_shaped:
        return response
    headers = {name: value for name, value in response.headers.items() if name.startswith("retry-after")}
    return JSONResponse(error_of(response.status_code, content), response.status_code, headers=headers)
