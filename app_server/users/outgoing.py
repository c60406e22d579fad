"""HTTP clients and address checks for calls to servers whose address a user has given."""

import httpx
from starlette.requests import HTTPConnection

from app_server.core.errors import BadGateway
from app_server.http.guarded_client import Guard
from app_server.users.models import User


def http_of(connection: HTTPConnection, user: User) -> httpx.AsyncClient:
    """Returns an HTTP client for calls on behalf of this user. The client refuses private addresses unless
    the user administers the installation.
    """
    client: httpx.AsyncClient = (
        connection.state.http if user.administers_installation else connection.state.guarded_http
    )
    return client


def guard_of(connection: HTTPConnection, user: User) -> Guard | None:
    """Returns the address check for libraries that have their own HTTP client. Returns None if this user may
    call every address.
    """
    guard: Guard = connection.state.guard
    return None if user.administers_installation else guard


def server_guard_of(connection: HTTPConnection, user: User, url: str) -> Guard:
    """Returns the address check for calls to a server whose URL the user has configured, and to all URLs that
    this server names. If the user administers the installation, the server's own origin may have a private
    address.
    """
    guard: Guard = connection.state.guard
    return guard.trusting(url) if user.administers_installation else guard


async def require_callable(connection: HTTPConnection, user: User, url: str) -> None:
    """Checks that a library may call this address on behalf of the user. Raises Forbidden `private_address`,
    BadGateway.
    """
    guard = guard_of(connection, user)
    if guard is None:
        return
    parts = httpx.URL(url)
    host = parts.host
    try:
        await guard.route_to(host, parts.scheme)
    except (OSError, TimeoutError) as error:
        raise BadGateway(f"{host} cannot be found.", code="host_not_found", fix="Check the URL.") from error
