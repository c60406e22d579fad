"""Runs the app server. It opens the ports, and accepts requests of users and of sandboxes in one event loop
until it is stopped.
"""

import asyncio
import gc
import json
import os
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.errors import StartFailure
from app_server.core.startup_failures import explained
from app_server.egress.shared_port import same_port
from app_server.http.connection_limits import limited_http, limits_for_visitors, throttle_accept_errors
from app_server.http.listeners import PortTaken, Server, home_of_our_own, listen, stop_on_signals
from app_server.lifespan import lifespan
from app_server.main import WithState, create_app, create_inner_app
from app_server.sandbox_backends.backend import SandboxKind
from app_server.sign_in.invitations import new_owner_link
from app_server.users.service import find_owner

_INNER_PORT_FIX = "End the other program, or restart Slipway with another SLIPWAY_INNER_PORT."

Announce = Callable[[SandboxKind, str | None], None]
"""The type of a function that is called once, when the network listeners for users and for sandboxes accept
requests. Its first argument is the kind of isolation of the sandboxes. Its second argument is a sign-in link
if the owner has never signed in, otherwise None.
"""


async def serve(config: Config, announce: Announce) -> None:
    """Runs the server until it receives SIGINT or SIGTERM. `announce`: a function that is called once, when
    the server accepts requests (see Announce).

    Raises PortTaken if a port is in use; in this case, the home directory and the database are not changed.
    Raises ConfigurationError if another server uses the home directory, or if the home directory or the
    database cannot be used.
    """
    async with AsyncExitStack() as stack:
        public_sockets = listen(_public_addresses(config), config.port, "port", stack)
        inner_sockets = listen(["127.0.0.1"], config.inner_port, "inner-port", stack)
        with explained(config):
            stack.enter_context(home_of_our_own(config.home))
            state = await stack.enter_async_context(lifespan(config))
            link = await _first_sign_in_link(config, state.database)
        further = [address for address in state.sandboxes.inner_addresses() if not address.startswith("127.")]
        inner_sockets += listen(further, config.inner_port, "inner-port", stack)
        throttle_accept_errors()
        public = Server(
            WithState(create_app(config), vars(state)),
            limited_http(limits_for_visitors()),
            trusted_proxies=config.trusted_proxies,
        )
        way_out = same_port(state.egress.serve)
        inner = Server(WithState(create_inner_app(config), vars(state)), way_out)
        servers = [public, inner]
        stop_on_signals(servers)
        async with asyncio.TaskGroup() as group:
            group.create_task(inner.serve(inner_sockets), name="inner listener")
            group.create_task(public.serve(public_sockets), name="public listener")

            async def listen_there_too(addresses: list[str]) -> None:
                try:
                    sockets = listen(addresses, config.inner_port, "inner-port", stack)
                except PortTaken as error:
                    raise StartFailure("inner_port_taken", str(error), fix=_INNER_PORT_FIX) from error
                servers.append(late := Server(WithState(create_inner_app(config), vars(state)), way_out))
                late.should_exit = public.should_exit  # a server that was told to end before it started
                group.create_task(late.serve(sockets), name="inner listener of a late engine")
                await late.answers.wait()

            state.sandboxes.listen(on_address=listen_there_too)
            with _server_file(config):
                await asyncio.gather(public.answers.wait(), inner.answers.wait())
                announce(state.sandboxes.describe(), link)
                _keep_what_stands()
                await public.ended.wait()


def _keep_what_stands() -> None:
    """Excludes all objects that exist now from garbage collection. The server calls this function once after
    its start, because it needs these objects until it stops. After the call, a full garbage collection blocks
    the event loop for only about half as long as it would otherwise.
    """
    gc.collect()
    gc.freeze()


async def _first_sign_in_link(config: Config, database: Database) -> str | None:
    """Creates and returns a link with which the owner signs in for the first time. Returns None if the owner
    has already signed in.

    The server prints this link at its start. The link gives full access, and printed output may be stored in
    logs. Therefore no link is created if the owner does not need it.
    """
    async with database.read() as session:
        owner = await find_owner(session)
    if owner is not None and owner.signed_in_at is not None:
        return None
    async with database.session() as session:
        return await new_owner_link(session, config)


def _public_addresses(config: Config) -> list[str]:
    # Browsers try ::1 first for "localhost". Another program listening there would get our visitors.
    return ["127.0.0.1", "::1"] if config.host in {"127.0.0.1", "localhost"} else [config.host]


@contextmanager
def _server_file(config: Config) -> Iterator[None]:
    """Writes `server.json` in the server's home directory, from which programs of the same operating-system
    user read the server's address. Removes the file when the `with` block ends.
    """
    path: Path = config.home / "server.json"
    draft = path.with_name(f"server.json.{os.getpid()}")
    draft.write_text(json.dumps({"url": f"http://127.0.0.1:{config.port}", "pid": os.getpid()}))
    draft.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
