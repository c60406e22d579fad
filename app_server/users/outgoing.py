"""Chooses HTTP clients and address checks for calls to servers whose URL a user has entered. These clients
and checks prevent calls to private networks.
"""

import httpx
from starlette.requests import HTTPConnection

from app_server.core.errors import BadGateway
from app_server.http.guarded_client import Guard
from app_server.users.models import User


def http_of(connection: HTTPConnection, user: User) -> httpx.AsyncClient:
    """Returns the HTTP client for calls on behalf of this user. The client refuses addresses in private
    networks, unless the user is an administrator of the installation.
    """
    client: httpx.AsyncClient = (
        connection.state.http if user.administers_installation else connection.state.guarded_http
    )
    return client


def guard_of(connection: HTTPConnection, user: User) -> Guard | None:
    """Returns the check that a connection on behalf of this user does not lead into a private network.
    Returns None for an administrator of the installation, who may connect to every address.

    Code that does not use the HTTP client of `http_of` needs this check. That client checks the addresses
    itself.
    """
    guard: Guard = connection.state.guard
    return None if user.administers_installation else guard


def server_guard_of(connection: HTTPConnection, user: User, url: str) -> Guard:
    """Returns the check of network addresses for connections to a server that the user has configured, such
    as an MCP server. The check applies to the server's URL (`url`) and to all other URLs to which the server
    refers, for example in redirects. It refuses addresses in private networks.

    Exception: if the user is an administrator of the installation, the check accepts the origin of `url`,
    even in a private network.
    """
    guard: Guard = connection.state.guard
    return guard.trusting(url) if user.administers_installation else guard


async def require_callable(connection: HTTPConnection, user: User, url: str) -> None:
    """Checks that the app server may call this URL on behalf of the user. An administrator of the
    installation may call every URL. Raises Forbidden `private_address` if the host is in a private network.
    Raises BadGateway `host_not_found` if the address of the host cannot be found.
    """
    await require_allowed(guard_of(connection, user), url)


async def require_allowed(guard: Guard | None, url: str) -> None:
    """Checks that the guard allows a connection to this URL. None allows every URL. Raises Forbidden
    `private_address` if the host is in a private network. Raises BadGateway `host_not_found` if the address
    of the host cannot be found.
    """
    if guard is None:
        return
    parts = httpx.URL(url)
    host = parts.host
    try:
        await guard.route_to(host, parts.scheme)
    except (OSError, TimeoutError) as error:
        raise BadGateway(f"{host} cannot be found.", code="host_not_found", fix="Check the URL.") from error
