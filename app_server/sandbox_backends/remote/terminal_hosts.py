"""Opens clients of sandbox hosts (machines that run sandboxes for an app server) for `slipway` commands in a
terminal. These commands work without a running app server.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app_server.core.config import Config
from app_server.core.sandbox_hosts import SandboxHost
from app_server.sandbox_backends.remote.host import Host
from app_server.sandbox_backends.remote.identity import installation_id, read_token
from app_server.sandbox_backends.remote.tls import trust_of_hosts


@asynccontextmanager
async def open_host(host_config: SandboxHost, config: Config) -> AsyncIterator[Host]:
    """Opens a client of a configured sandbox host (a machine that runs sandboxes for an app server) and
    yields the client. Closes the client at the end of the `with` block. Raises StartFailure if the host's
    token cannot be read.
    """
    trust = trust_of_hosts(config)
    assert trust, "there are hosts"
    installation = await asyncio.to_thread(installation_id, config.home)
    host = Host(
        host_config, read_token(host_config), installation, trust, config.sandbox_host_patience_seconds
    )
    try:
        yield host
    finally:
        await host.close()
