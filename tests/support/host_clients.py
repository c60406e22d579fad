"""Makes clients of git hosts whose requests go to a `HostContract`, which checks them."""

from collections.abc import Callable
from typing import Any, TypeVar

import httpx

from app_server.git_hosts.connection import HostAccess
from app_server.git_hosts.rate_limits import RateLimits
from tests.support.host_contract import HostContract

Client = TypeVar("Client")


def client_of(
    factory: Callable[[HostAccess], Client],
    contract: HostContract,
    origin: str,
    *,
    token: str | None = None,
    username: str | None = None,
    api_url: str | None = None,
) -> Client:
    """Returns the client of a git host that `factory` makes for this origin. The requests of the client go to
    `contract`, which checks and answers them.

    token: None for an arbitrary token.
    """
    http = httpx.AsyncClient(transport=contract)
    return factory(HostAccess(origin, token or "a-token", http, RateLimits(), username, api_url))


def changed(value: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Returns a copy of an answer with some fields changed."""
    return {**value, **changes}
