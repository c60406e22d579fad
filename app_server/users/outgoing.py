"""With what this server calls an address that one of its users has named."""

import httpx
from starlette.requests import HTTPConnection

from app_server.core.errors import BadGateway
from app_server.http.guarded_client import Guard
from app_server.users.models import ADMINISTRATORS, User


def http_of(connection: HTTPConnection, user: User) -> httpx.AsyncClient:
    """A client that keeps those who do not run this installation from its neighbours."""
    client: httpx.AsyncClient = (
        connection.state.http if user.role in ADMINISTRATORS else connection.state.guarded_http
    )
    return client


def guard_of(connection: HTTPConnection, user: User) -> Guard | None:
    """For libraries that bring an HTTP client. None: this user may call any address."""
    guard: Guard = connection.state.guard
    return None if user.role in ADMINISTRATORS else guard


async def require_callable(connection: HTTPConnection, user: User, url: str) -> None:
    """Said before a library is asked. Raises Forbidden `private_address`, BadGateway."""
    guard = guard_of(connection, user)
    if guard is None:
        return
    parts = httpx.URL(url)
    host = parts.host
    try:
        await guard.route_to(host, parts.scheme)
    except (OSError, TimeoutError) as error:
        raise BadGateway(f"{host} cannot be found.", code="host_not_found", fix="Check the URL.") from error
