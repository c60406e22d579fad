"""Prevents sandboxes from reaching services of this host, and tests whether this works."""

import asyncio
import logging
from typing import TYPE_CHECKING

from app_server.core.background import finish
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
    connections of sandboxes to this host, watches these rules, and tests whether they work.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        # The host's address on the sandboxes' network. None if this app server has not set the rules.
        self._admitted_at: str | None = None
        self._not_filtered: str | None = None
        self._gap_in_rules: str | None = None
        self._gap_in_test: str | None = None

    @property
    def gap(self) -> str | None:
        """A sentence about services that sandboxes can still reach, with the fix; None if no gap was
        found.
        """
        return self._gap_in_rules or self._gap_in_test

    async def set_up(self, gateway: str) -> None:
        """Blocks connections of sandboxes to this host, except to the inner listener (the app server's port
        for sandboxes).

        gateway: the host's address on the sandboxes' network.
        """
        try:
            await asyncio.to_thread(admit_only, BRIDGE, gateway, self._config.inner_port)
            self._admitted_at = gateway
        except NotFiltered as error:
            self._not_filtered = str(error)

    async def renew(self) -> None:
        """Sets those rules again that another program has removed since `set_up`, and logs a warning about
        it. If this fails, `gap` says so until it succeeds. Does nothing if `set_up` could not set the rules.
        """
        gateway = self._admitted_at
        if gateway is None:
            return
        try:
            # Not interrupted: a thread that goes on could set a rule again after `withdraw`.
            setting = asyncio.to_thread(admit_only, BRIDGE, gateway, self._config.inner_port)
            if await finish(setting):
                logger.warning("rules of the packet filter had been removed, and are set again")
        except NotFiltered as error:
            self._not_filtered = str(error)
            if self._gap_in_rules is None:
                logger.warning("rules of the packet filter cannot be set", extra={"cause": str(error)})
            self._gap_in_rules = self._describe_gap(gateway)
        else:
            self._not_filtered = self._gap_in_rules = None

    def examine(self, client: "DockerClient", image: str, gateway: str) -> None:
        """Starts a test container that tries to reach this host. If the container can reach it, `gap`
        contains a warning for users, which is also logged. Blocks the thread for about a second.
        """
        options = {**hardened(self._config), "network": NETWORK}
        if is_host_reachable(client, image, options, gateway, owner_of_helpers(self._config)):
            self._gap_in_test = self._describe_gap(gateway)
            logger.warning("sandboxes reach services of this host", extra={"cause": self._gap_in_test})

    async def withdraw(self) -> None:
        """Removes the packet filter rule that lets sandboxes connect to this app server's inner listener (its
        port for sandboxes). Does nothing if this app server has not set the rule.
        """
        gateway, self._admitted_at = self._admitted_at, None
        if gateway is None:
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
