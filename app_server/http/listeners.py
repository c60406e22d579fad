"""Listening sockets and the class of web servers that use them, from opening a port to a clean shutdown."""

import asyncio
import fcntl
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Literal

import uvicorn
from starlette.types import ASGIApp

from app_server.core.errors import ConfigurationError

SHUTDOWN_SECONDS = 4
ACCEPTED_AT_ONCE = 4
"""The maximum number of connections that are accepted in one turn of the event loop. Without this limit,
asyncio would accept all waiting connections in one turn. Thousands of them would block all requests.
"""
WAITING_CONNECTIONS = 2048
"""The maximum number of connections that wait in the kernel until this server accepts them."""


class PortTaken(Exception):
    """The error that is raised if another program already uses a port that the server needs. The message
    names the port and the setting that changes the port.
    """


class Server(uvicorn.Server):
    """A web server for one listening socket. It does not handle signals, because `stop_on_signals` handles
    signals for all servers of the process.

    `trusted_proxies`: networks whose `X-Forwarded-For` header is trusted.
    """

    def __init__(
        self,
        app: ASGIApp,
        protocol: type[asyncio.Protocol] | Literal["auto"] = "auto",
        *,
        certificate: Path | None = None,
        key: Path | None = None,
        trusted_proxies: Sequence[str] = (),
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=protocol,
                lifespan="off",
                access_log=False,
                log_config=None,
                server_header=False,
                proxy_headers=bool(trusted_proxies),
                forwarded_allow_ips=[*trusted_proxies],
                ssl_certfile=certificate,
                ssl_keyfile=key,
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
                backlog=ACCEPTED_AT_ONCE,
            )
        )
        self.answers = asyncio.Event()
        self.ended = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(WAITING_CONNECTIONS)
        self.answers.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.ended.set()
        await super().shutdown(sockets)


def stop_on_signals(servers: list[Server]) -> None:
    """Installs signal handlers for SIGINT and SIGTERM. The first signal stops the servers gracefully, a
    second signal stops them immediately.
    """

    def stop() -> None:
        for server in servers:
            server.force_exit = server.should_exit
            server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)


def listen(addresses: list[str], port: int, option: str, stack: AsyncExitStack) -> list[socket.socket]:
    sockets = []
    for address in addresses:
        try:
            listener = _bound_socket(address, port)
        except OSError as error:
            if address == "::1" and not _is_taken(error):
                continue  # A machine without IPv6.
            raise PortTaken(_explanation(error, address, port, option)) from error
        sockets.append(listener)
        stack.callback(listener.close)
    return sockets


def _bound_socket(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # The protocol is given: asyncio sends small replies immediately only over a socket that names TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((address, port))
        # Only listen() detects a conflict: two sockets may be bound to one port as long as neither listens.
        listener.listen(2048)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _is_taken(error: OSError) -> bool:
    return isinstance(error, PermissionError) or error.errno == 98 or "in use" in str(error)


def _explanation(error: OSError, address: str, port: int, option: str) -> str:
    variable = f"SLIPWAY_{option.replace('-', '_').upper()}"
    if _is_taken(error):
        return (
            f"Port {port} on {address} is taken by another program: choose another one "
            f"with --{option} or {variable}."
        )
    return (
        f"Cannot listen on {address}, port {port}: {error.strerror}. Change it with --host or SLIPWAY_HOST."
    )


@contextmanager
def home_of_our_own(home: Path) -> Iterator[None]:
    """Locks Slipway's data directory for this process while the `with` block runs. Raises ConfigurationError
    if another server uses the directory, because two servers would start every sandbox twice.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (home / "server.lock").open("w") as file:
        try:
            # The system releases the lock, whatever way this process ends.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigurationError(
                f"Another Slipway server uses {home}: stop it, or choose another directory with --home or "
                "SLIPWAY_HOME."
            ) from None
        yield
