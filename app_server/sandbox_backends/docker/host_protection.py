"""Prevents sandboxes from reaching services of this host, and tests whether this works."""

import asyncio
import logging
from typing import TYPE_CHECKING

from app_server.core.config import Config
from app_server.docker_engine.labels import owner_of_helpers
from app_server.sandbox_backends.docker.firewall import NotFiltered, admit_only, advice, withdraw
from app_server.sandbox_backends.docker.hardening import hardened
from app_server.sandbox_backends.docker.host_reachability import is_host_reachable
from app_server.sandbox_backends.docker.network import BRIDGE, NETWORK

if TYPE_CHECKING:
    from docker import DockerClient

logger = logging.getLogger(__name__)


class HostProtection:
    """The protection of this host's services against sandboxes: sets packet filter rules that block
    connections of sandboxes to this host, and tests whether the rules work.

    gap: a sentence about services that sandboxes can still reach, with the fix; None if no gap was found.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._is_admitted = False
        self._not_filtered: str | None = None
        self.gap: str | None = None

    async def set_up(self, gateway: str) -> None:
        """Blocks connections of sandboxes to this host, except to the inner listener (the app server's port
        for sandboxes).

        gateway: the host's address on the sandboxes' network.
        """
        try:
            await asyncio.to_thread(admit_only, BRIDGE, gateway, self._config.inner_port)
            self._is_admitted = True
        except NotFiltered as error:
            self._not_filtered = str(error)

    def examine(self, client: "DockerClient", image: str, gateway: str) -> None:
        """Starts a test container that tries to reach this host. If the container can reach it, stores a
        warning for users in `gap` and logs the warning. Blocks the thread for about a second.
        """
        options = {**hardened(self._config), "network": NETWORK}
        if is_host_reachable(client, image, options, gateway, owner_of_helpers(self._config)):
            self.gap = self._describe_gap(gateway)
            logger.warning("sandboxes reach services of this host", extra={"cause": self.gap})

    async def withdraw(self, gateway: str) -> None:
        """Removes the packet filter rule that lets sandboxes connect to this app server's inner listener (its
        port for sandboxes). Does nothing if this app server has not set the rule.
        """
        if not self._is_admitted:
            return
        try:
            await asyncio.to_thread(withdraw, gateway, self._config.inner_port)
        except NotFiltered as error:
            logger.warning("a port stays open to containers", extra={"cause": str(error)})

    def _describe_gap(self, gateway: str) -> str:
        why = f" ({self._not_filtered})" if self._not_filtered else ""
        return (
            "Agents can call services that this machine offers on all of its addresses: nothing filters what "
            f"comes from their network{why}. {advice(BRIDGE, gateway, self._config.inner_port)}"
        )
