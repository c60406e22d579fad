"""Errors for failed calls to a model server. Each error names the server's address and the cause."""

import math

import httpx

from agent_runtime import litellm_calls
from agent_runtime.vendors import (
    RETRY_HEADERS,
    UNREACHABLE,
    WRONG_BASE_URL,
    retry_after_seconds,
)
from app_server.core.errors import BadGateway

_FIX = "Check the model's base URL in the settings, and that this server can reach it."


def unreachable(error: Exception, where: str | None) -> BadGateway:
    """Returns the error for a model server that accepts no connection, or that closed the connection.
    `where`: the address of the server; None if it is not known.
    """
    host = httpx.URL(where).netloc.decode() if where else "its vendor"
    return BadGateway(
        f"The model's server at {host} cannot be reached ({type(error).__name__}: {error}).",
        code=UNREACHABLE,
        fix=_FIX,
    )


def wrong_base_url(where: str, status: int) -> BadGateway:
    """Returns the error for a base URL at which there is a web page and no model server. `where`: the base
    URL. `status`: the HTTP status of the page.
    """
    host = httpx.URL(where).netloc.decode()
    return BadGateway(
        f"{host} is not a server of models, or the path of the base URL is wrong (HTTP {status}).",
        code=WRONG_BASE_URL,
        fix=_FIX,
    )


def retry_headers(error: Exception) -> dict[str, str]:
    """Returns the headers of a vendor's error reply that say how long to wait before the next call. `error`:
    the error of litellm that contains the reply. If the vendor states this time only in the body, as Google
    does, returns it as the header `retry-after`, in whole seconds. Returns an empty dictionary if the vendor
    states no time, or if the time cannot be read.
    """
    reply_headers = litellm_calls.headers_of(error)
    headers = {name: value for name, value in reply_headers.items() if name in RETRY_HEADERS}
    if retry_after_seconds(headers) is not None:
        return headers
    seconds = litellm_calls.retry_after(error)
    return {} if seconds is None else {"retry-after": str(math.ceil(seconds))}


def connection_failure(error: BaseException) -> httpx.ConnectError | None:
    """Returns the first httpx.ConnectError among `error` and its causes. Returns None if there is none."""
    seen: set[int] = set()
    below: BaseException | None = error
    while below is not None and id(below) not in seen:
        if isinstance(below, httpx.ConnectError):
            return below
        seen.add(id(below))
        below = below.__cause__ or below.__context__
    return None
