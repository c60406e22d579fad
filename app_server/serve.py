"""Runs the app server: both listeners in one event loop, from a free port to a clean end."""

import asyncio
import fcntl
import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from app_server.config import Config
from app_server.database import Database
from app_server.errors import ConfigurationError, StartFailure
from app_server.main import State, WithState, create_app, create_inner_app, lifespan
from app_server.sandboxes.backend import SandboxKind
from app_server.sign_in.service import create_link
from app_server.users.service import find_owner

SHUTDOWN_SECONDS = 4
_INNER_PORT_FIX = "End the other program, or restart Slipway with another SLIPWAY_INNER_PORT."

Announce = Callable[[SandboxKind, str], None]
"""Called with the sandbox kind and a sign-in link once both listeners answer."""


class PortTaken(Exception):
    """A port that we must have belongs to somebody else; the message says which, and what changes it."""


async def serve(config: Config, announce: Announce) -> None:
    """Serves until SIGINT or SIGTERM.

    Raises PortTaken before anything is touched, and ConfigurationError when the home is another server's.
    """
    async with AsyncExitStack() as stack:
        public_sockets = _listen(_public_addresses(config), config.port, "port", stack)
        inner_sockets = _listen(["127.0.0.1"], config.inner_port, "inner-port", stack)
        stack.enter_context(_home_of_our_own(config.home))
        state = await stack.enter_async_context(lifespan(config))
        further = [
            address for address in state["sandboxes"].inner_addresses() if not address.startswith("127.")
        ]
        inner_sockets += _listen(further, config.inner_port, "inner-port", stack)
        public = _Server(create_app(config), state)
        inner = _Server(create_inner_app(config), state)
        servers = [public, inner]
        _stop_on_signals(servers)
        link = await new_sign_in_link(config, state["database"])
        async with asyncio.TaskGroup() as group:
            group.create_task(inner.serve(inner_sockets), name="inner listener")
            group.create_task(public.serve(public_sockets), name="public listener")

            async def listen_there_too(addresses: list[str]) -> None:
                try:
                    sockets = _listen(addresses, config.inner_port, "inner-port", stack)
                except PortTaken as error:
                    raise StartFailure("inner_port_taken", str(error), fix=_INNER_PORT_FIX) from error
                servers.append(late := _Server(create_inner_app(config), state))
                group.create_task(late.serve(sockets), name="inner listener of a late engine")
                await late.answers.wait()

            state["sandboxes"].on_address = listen_there_too
            with _server_file(config):
                await asyncio.gather(public.answers.wait(), inner.answers.wait())
                announce(state["sandboxes"].describe(), link)
                await public.ended.wait()


async def new_sign_in_link(config: Config, database: Database) -> str:
    """A one-time link for the owner. The token stands in the fragment, which no log and no proxy sees."""
    async with database.session() as session:
        owner = await find_owner(session)
        assert owner is not None, "the first start makes the owner"
        return f"{config.base_url}/sign-in#token={await create_link(session, owner.id)}"


class _Server(uvicorn.Server):
    """One listener. Signals are handled for both at once, so not here."""

    def __init__(self, app: FastAPI, state: State) -> None:
        super().__init__(
            uvicorn.Config(
                WithState(app, state),
                lifespan="off",
                access_log=False,
                log_config=None,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            )
        )
        self.answers = asyncio.Event()
        self.ended = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.answers.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.ended.set()
        await super().shutdown(sockets)


def _stop_on_signals(servers: list[_Server]) -> None:
    """The first signal ends the servers gently, a second one at once."""

    def stop() -> None:
        for server in servers:
            server.force_exit = server.should_exit
            server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)


def _public_addresses(config: Config) -> list[str]:
    # Browsers try ::1 first for "localhost"; somebody else's server there would get our visitors.
    return ["127.0.0.1", "::1"] if config.host in {"127.0.0.1", "localhost"} else [config.host]


def _listen(addresses: list[str], port: int, option: str, stack: AsyncExitStack) -> list[socket.socket]:
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
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((address, port))
        # Only listening tells: two sockets may be bound to one port as long as neither listens.
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
def _home_of_our_own(home: Path) -> Iterator[None]:
    """Two servers on one home would start every sandbox twice, each in the other's way."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (home / "server.lock").open("w") as file:
        try:
            # The system gives it back however this process ends.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigurationError(
                f"Another Slipway server uses {home}: stop it, or choose another directory with --home or "
                "SLIPWAY_HOME."
            ) from None
        yield


@contextmanager
def _server_file(config: Config) -> Iterator[None]:
    """`home`/server.json tells programs of the same user where we are, as long as we are."""
    path: Path = config.home / "server.json"
    draft = path.with_name(f"server.json.{os.getpid()}")
    draft.write_text(json.dumps({"url": f"http://127.0.0.1:{config.port}", "pid": os.getpid()}))
    draft.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
