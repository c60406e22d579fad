"""Keeps litellm to the addresses that were judged, where a member has named the vendor's address.

litellm brings HTTP clients of its own, and shares them among its calls. Most of its vendors take one that is
handed in with the call; azure goes by the client of the `openai` package, which takes it from one place for
all calls. So that one asks for whom it works.
"""

from contextvars import ContextVar
from functools import cache
from typing import Any

import httpx

from app_server.guarded import Guard, GuardedSyncTransport

_guard: ContextVar[Guard | None] = ContextVar("guard of a call of litellm", default=None)


def keep_in(litellm: Any) -> None:
    """From now on, in this process."""
    if litellm.client_session is None:
        litellm.client_session = httpx.Client(transport=_AsAsked(), follow_redirects=True)


def client_for(model: str, guard: Guard | None) -> dict[str, Any]:
    """What a call is made with, in the thread that makes it. Nothing without a guard."""
    _guard.set(guard)
    if guard is None or model.startswith("azure/"):
        return {}
    return {"client": _handler(guard)}


@cache
def _handler(guard: Guard) -> Any:
    from litellm.llms.custom_httpx.http_handler import HTTPHandler  # loaded with litellm

    return HTTPHandler(client=httpx.Client(transport=GuardedSyncTransport(guard)))


@cache
def _transport(guard: Guard) -> GuardedSyncTransport:
    return GuardedSyncTransport(guard)


class _AsAsked(httpx.BaseTransport):
    """Guarded for calls that are to be."""

    def __init__(self) -> None:
        self._open = httpx.HTTPTransport(limits=httpx.Limits(max_connections=None))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        guard = _guard.get()
        return (_transport(guard) if guard else self._open).handle_request(request)
