"""Builds and runs a sandbox host, which runs sandboxes for an app server on another machine. Opens one port
for the app server and one port for the sandboxes, and replies to requests until the process receives SIGINT
or SIGTERM.
"""

import asyncio
import ipaddress
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from app_server.core.config import Config
from app_server.core.errors import (
    PROBLEM_RESPONSES,
    ConfigurationError,
    StartFailure,
    add_problem_schema,
    install_error_handlers,
    problem,
)
from app_server.core.startup_failures import explained
from app_server.core.version import VERSION
from app_server.http.listeners import Server, home_of_our_own, listen, stop_on_signals
from app_server.http.middleware import BodyLimit, RequestContext
from app_server.sandbox_backends.remote.wire import MAX_BASE_BYTES, PREFIX
from app_server.sandbox_host.access import HostAuthentication, host_token
from app_server.sandbox_host.agent_server_relay import AgentRelay
from app_server.sandbox_host.routes import open_router, router
from app_server.sandbox_host.services import HostServices

TEND_SECONDS = 5.0


async def serve_host(config: Config, announce: Callable[[Path], None], *, behind_tls: bool) -> None:
    """Runs a sandbox host until the process receives SIGINT or SIGTERM. When all ports are open, calls
    `announce` with the path of the file that contains the host's token.

    `behind_tls`: true if this host needs no TLS certificate, because a proxy adds TLS or the network is
    private. Raises PortTaken if a port is in use. Raises ConfigurationError if the configuration is wrong.
    Raises StartFailure if there is no container engine.
    """
    _require_tls(config, behind_tls=behind_tls)
    async with AsyncExitStack() as stack:
        sockets = listen([config.host], config.sandbox_host_port, "sandbox-host-port", stack)
        with explained(config):
            stack.enter_context(home_of_our_own(config.home))
            token = await asyncio.to_thread(host_token, config.home)
        work = HostServices(config)
        stack.push_async_callback(work.backend.close)
        stack.push_async_callback(work.background.close)
        await work.backend.open()
        await work.backend.secure()
        for socket in listen(work.backend.inner_addresses(), config.inner_port, "inner-port", stack):
            inner = await asyncio.start_server(work.egress_relay.serve, sock=socket)
            stack.callback(inner.close)
        work.background.run_forever(work.tend, name="spare sandboxes", interval_seconds=TEND_SECONDS)
        server = Server(
            create_host_app(work, token),
            certificate=config.sandbox_host_certificate,
            key=config.sandbox_host_key,
        )
        stop_on_signals([server])
        async with asyncio.TaskGroup() as group:
            group.create_task(server.serve(sockets), name="listener")
            await server.answers.wait()
            announce(config.home / "host-token")
            await server.ended.wait()


def create_host_app(work: HostServices, token: str) -> FastAPI:
    """Builds the FastAPI app that serves the HTTP routes of a sandbox host. `token`: the token that the app
    server must send. The OpenAPI document of the sandbox host is also generated from this app.
    """
    app = _HostApp(
        title="Slipway sandbox host",
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        responses=PROBLEM_RESPONSES,
        middleware=[
            Middleware(RequestContext),
            Middleware(HostAuthentication, home=work.config.home, token=token),
            Middleware(AgentRelay, backend=work.backend),
            Middleware(BodyLimit, max_bytes=MAX_BASE_BYTES, streamed=(f"{PREFIX}/sandboxes/",)),
            Middleware(_WithWork, work=work),
        ],
    )
    install_error_handlers(app)
    app.add_exception_handler(StartFailure, _on_start_failure)
    app.include_router(open_router)
    app.include_router(router)
    return app


class _HostApp(FastAPI):
    def openapi(self) -> dict[str, Any]:
        description = super().openapi()
        add_problem_schema(description)
        return description


class _WithWork:
    def __init__(self, app: ASGIApp, *, work: HostServices) -> None:
        self._app = app
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "state": {**scope.get("state", {}), "work": self._work}}, receive, send)


async def _on_start_failure(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, StartFailure)
    return problem(
        request,
        status=503,
        code=error.code,
        detail=error.cause,
        fix=error.fix,
        extra={"output": error.output},
    )


def _require_tls(config: Config, *, behind_tls: bool) -> None:
    """Raises ConfigurationError if this host needs TLS and has no certificate, or if the certificate settings
    are incomplete. Without TLS, other machines could read the host's token and the data of sandboxes.

    TLS is not needed if the host listens only on a loopback address, or if `behind_tls` is true.
    """
    certificate, key = config.sandbox_host_certificate, config.sandbox_host_key
    if bool(certificate) != bool(key):
        raise ConfigurationError(
            "SLIPWAY_SANDBOX_HOST_CERTIFICATE and SLIPWAY_SANDBOX_HOST_KEY belong together: set both."
        )
    for path in (certificate, key):
        if path and not path.is_file():
            raise ConfigurationError(f"There is no file {path}.")
    if certificate or behind_tls or _is_loopback(config.host):
        return
    raise ConfigurationError(
        "Anyone who can read the traffic to this host sees the token and all output of sandboxes. Set "
        "SLIPWAY_SANDBOX_HOST_CERTIFICATE and SLIPWAY_SANDBOX_HOST_KEY; or say --behind-tls when something "
        "in front of it speaks TLS, or the network is private."
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
