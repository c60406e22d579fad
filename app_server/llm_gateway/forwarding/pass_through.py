"""Calls vendors in their own protocol. The API key is added to the request, and the bytes of the reply are
not changed.
"""

import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import orjson
from fastapi import Response

from app_server.core.errors import BadGateway
from app_server.http.bounded_body import beginning_of
from app_server.http.reply_streaming import Passing
from app_server.llm_gateway.forwarding.added_fields import Additions
from app_server.llm_gateway.forwarding.vendor_failures import unreachable, wrong_base_url
from app_server.llm_gateway.forwarding.vendors import PassThrough

logger = logging.getLogger(__name__)

_FORWARDED = ("accept", "user-agent", "openai-beta", "idempotency-key")
_RETURNED = (
    "content-type",
    "content-encoding",
    "retry-after",
    "retry-after-ms",
    "x-request-id",
    "request-id",
    "openai-processing-ms",
    "openai-version",
)
_RETURNED_PREFIXES = ("x-ratelimit-", "anthropic-ratelimit-")
_MAX_ERROR_BYTES = 64 * 1024
_ERROR_SECONDS = 15.0
_CONNECT_TIMEOUT_SECONDS = 15.0


async def pass_through(
    http: httpx.AsyncClient,
    vendor: PassThrough,
    body: dict[str, Any],
    *,
    added: Additions,
    headers: Mapping[str, str],
    path: str,
    own_headers: Mapping[str, str] | None = None,
) -> Response:
    """Sends the body to the vendor and returns the vendor's reply as it arrives.

    `added`: the API key and other values to add to the request. `headers`: the headers of the request that
    this server has received. `path`: the path of the protocol's endpoint below the vendor's base URL.
    `own_headers`: for a call in Anthropic's protocol, the additional headers of this protocol; the API key is
    then sent in the header `x-api-key`. For a call in one of OpenAI's protocols, `own_headers` is None; the
    API key is then sent as a bearer token.

    Raises BadGateway `llm_vendor_unreachable` if no connection to the vendor can be opened. Raises BadGateway
    `llm_vendor_silent` if the vendor does not reply. Raises BadGateway `llm_base_url_wrong` if the reply is
    an HTML page. Raises BadGateway `llm_vendor_redirected` if the reply is a redirect.
    """
    content = orjson.dumps({**body, **added.body, "model": vendor.model})
    length = str(len(content))
    request = http.build_request(
        "POST",
        f"{vendor.base_url}{path}",
        content=_let_go(content),
        headers={**_request_headers(headers, added, own_headers), "content-length": length},
        timeout=httpx.Timeout(added.timeout_seconds, connect=_CONNECT_TIMEOUT_SECONDS),
    )
    try:
        reply = await http.send(request, stream=True, follow_redirects=False)
        if _is_page(reply):
            await reply.aclose()
            raise wrong_base_url(vendor.base_url, reply.status_code)
        if reply.is_success:
            return Passing(reply, reply.aiter_raw(), status=reply.status_code, headers=_reply_headers(reply))
        return await _vendor_error(reply, added)
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise unreachable(error, vendor.base_url) from error
    except httpx.HTTPError as error:
        raise BadGateway(
            f"The model's vendor did not answer ({type(error).__name__}).",
            code="llm_vendor_silent",
            fix="Check the model's base URL in the settings, and that this server can reach it.",
        ) from error


async def _vendor_error(reply: httpx.Response, added: Additions) -> Response:
    """Returns the vendor's error reply, with the vendor's API key hidden if the vendor repeats it. Raises
    BadGateway `llm_vendor_redirected` for a redirect.
    """
    if reply.is_redirect:
        await reply.aclose()
        raise BadGateway(
            "The model's vendor answered with a redirect.",
            code="llm_vendor_redirected",
            fix="Set the base URL to the final address.",
        )
    try:
        content = await beginning_of(reply, _MAX_ERROR_BYTES, _ERROR_SECONDS)
    finally:
        await reply.aclose()
    logger.warning("the model's vendor refused", extra={"status": reply.status_code})
    headers = {name: value for name, value in _reply_headers(reply).items() if name != "content-encoding"}
    return Response(added.hidden_in(content), reply.status_code, headers=headers)


async def _let_go(content: bytes) -> AsyncIterator[bytes]:
    """Yields the request body and then drops the reference to it. So the memory of the body is free while the
    app server waits for the vendor's reply, which may take minutes.
    """
    yield content


def _is_page(reply: httpx.Response) -> bool:
    """Returns whether the reply is the HTML page of a web site and not a model's answer. Returns False for an
    HTML page with an error status such as 502, because a proxy may send it while the vendor is down.
    """
    is_html = reply.headers.get("content-type", "").startswith("text/html")
    return is_html and (reply.is_success or reply.status_code in {404, 405})


def _request_headers(
    headers: Mapping[str, str], added: Additions, own_headers: Mapping[str, str] | None
) -> dict[str, str]:
    # No compression: the reply passes unchanged, and the usage is read from it on the way.
    forwarded = {"accept-encoding": "identity", "content-type": "application/json"} | {
        name: headers[name] for name in _FORWARDED if name in headers
    }
    forwarded |= own_headers or {}
    if added.api_key and own_headers is None:
        forwarded["authorization"] = f"Bearer {added.api_key}"
    elif added.api_key:
        forwarded["x-api-key"] = added.api_key
    return forwarded | {name.lower(): value for name, value in added.headers.items()}


def _reply_headers(reply: httpx.Response) -> dict[str, str]:
    return {
        name: value
        for name, value in reply.headers.items()
        if name in _RETURNED or name.startswith(_RETURNED_PREFIXES)
    }
