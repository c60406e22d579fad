"""Fixtures of the tests of floods of requests. Most of them are those of the app server's own tests."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import ASGIApp

from app_server.http.connection_limits import ConnectionLimits, limited_http
from app_server.http.listeners import Server
from tests.app_server.conftest import anonymous, app, client, config, inner, no_outer_configuration, owner
from tests.app_server.git_proxy.conftest import database_url, host, sandbox

__all__ = [
    "anonymous",
    "app",
    "client",
    "config",
    "database_url",
    "host",
    "inner",
    "no_outer_configuration",
    "owner",
    "sandbox",
]


@asynccontextmanager
async def served(app: ASGIApp, protocol: type[asyncio.Protocol] | None = None) -> AsyncIterator[int]:
    """Serves the app on a free port of this machine and yields the port. protocol: None means HTTP with
    limited connections.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = Server(app, protocol or limited_http(ConnectionLimits(100, 100)))
        task = asyncio.create_task(server.serve([listener]))
        await server.answers.wait()
        yield listener.getsockname()[1]
        server.should_exit = True
        await task
