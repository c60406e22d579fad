"""Vendors that speak our protocol: their bytes go straight through, the key is added on the way out."""

import logging
from collections.abc import Mapping
from typing import Any

import httpx
import orjson
from fastapi import Response

from app_server.errors import BadGateway
from app_server.llm_gateway.vendors import PassThrough
from app_server.passing import Passing

logger = logging.getLogger(__name__)

_FORWARDED = ("accept", "content-type", "user-agent", "openai-beta", "idempotency-key")
_RETURNED = ("content-type", "content-encoding", "retry-after", "retry-after-ms", "x-request-id")
_RETURNED_PREFIXES = ("x-ratelimit-", "openai-")
_MAX_ERROR_BYTES = 64 * 1024
_CONNECT_TIMEOUT_SECONDS = 15.0


async def pass_through(
    http: httpx.AsyncClient,
    vendor: PassThrough,
    body: dict[str, Any],
    *,
    api_key: str | None,
    headers: Mapping[str, str],
    timeout_seconds: float,
) -> Response:
    """The vendor's reply as it comes; `timeout_seconds` is how long it may stay silent.

    Raises BadGateway `llm_vendor_unreachable`.
    """
    request = http.build_request(
        "POST",
        f"{vendor.base_url}/chat/completions",
        content=orjson.dumps({**body, "model": vendor.model}),
        headers=_request_headers(headers, api_key),
        timeout=httpx.Timeout(timeout_seconds, connect=_CONNECT_TIMEOUT_SECONDS),
    )
    try:
        reply = await http.send(request, stream=True, follow_redirects=False)
        if reply.is_success:
            return Passing(reply, reply.aiter_raw(), status=reply.status_code, headers=_reply_headers(reply))
        return await _vendor_error(reply, api_key)
    except httpx.HTTPError as error:
        raise BadGateway(
            f"The model's vendor did not answer ({type(error).__name__}).",
            code="llm_vendor_unreachable",
            fix="Check the model's base URL in the settings, and that this server can reach it.",
        ) from error


async def _vendor_error(reply: httpx.Response, api_key: str | None) -> Response:
    """The vendor's own words, less our key should it repeat it."""
    if reply.is_redirect:
        await reply.aclose()
        raise BadGateway(
            "The model's vendor answered with a redirect.",
            code="llm_vendor_redirected",
            fix="Set the base URL to the final address.",
        )
    try:
        content = (await reply.aread())[:_MAX_ERROR_BYTES]
    finally:
        await reply.aclose()
    logger.warning("the model's vendor refused", extra={"status": reply.status_code})
    headers = {name: value for name, value in _reply_headers(reply).items() if name != "content-encoding"}
    return Response(without_key(content, api_key), reply.status_code, headers=headers)


def without_key(content: bytes, api_key: str | None) -> bytes:
    return content.replace(api_key.encode(), b"[key]") if api_key else content


def _request_headers(headers: Mapping[str, str], api_key: str | None) -> dict[str, str]:
    # The bytes pass as they are, and what they say of their cost is read on the way.
    forwarded = {"accept-encoding": "identity"} | {
        name: headers[name] for name in _FORWARDED if name in headers
    }
    if api_key:
        forwarded["authorization"] = f"Bearer {api_key}"
    return forwarded


def _reply_headers(reply: httpx.Response) -> dict[str, str]:
    return {
        name: value
        for name, value in reply.headers.items()
        if name in _RETURNED or name.startswith(_RETURNED_PREFIXES)
    }
