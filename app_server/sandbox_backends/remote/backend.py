"""Runs sandboxes on other hosts. Each host runs `slipway sandbox-host` and takes as many sandboxes as its
memory allows.

A sandbox stays on the host of its first start, because its workspace is there. A lost host is a host that
cannot be reached; its sandboxes may still run. A sandbox moves from a lost host to another host only if a
user asks for that, and its workspace then comes from a backup.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Literal
from uuid import UUID

from app_server.core.background import Background
from app_server.core.config import Config
from app_server.core.errors import StartFailure
from app_server.core.start_report import Report
from app_server.http.sandbox_authority import read_authority
from app_server.sandbox_backends.backend import (
    LastWords,
    Machine,
    MachineState,
    MemoryCapacity,
    SandboxKind,
    WorkspaceCapacity,
)
from app_server.sandbox_backends.remote.host import Host, unlisted
from app_server.sandbox_backends.remote.identity import installation_id, read_token
from app_server.sandbox_backends.remote.placements import Placements
from app_server.sandbox_backends.remote.reconcile import welcome
from app_server.sandbox_backends.remote.tls import trust_of_hosts
from app_server.sandbox_backends.remote.tunnel import HostTunnel
from app_server.sandbox_backends.workspace_tar import TarSink, TarSource
from app_server.sandbox_images.base_image import BaseImage

logger = logging.getLogger(__name__)

WATCH_SECONDS = 2.0
READY_SECONDS = 10.0
SPEC_PREFIX = "remote:"


class RemoteBackend:
    def __init__(self, config: Config) -> None:
        self._config = config
        self._background = Background()
        self._placements = Placements(config.home)
        self._intended: dict[UUID, str] = {}
        self._in_use: set[UUID] = set()
        trust, installation = trust_of_hosts(config), installation_id(config.home)
        assert trust, "there are hosts"
        self.hosts = {
            host_config.name: Host(
                host_config,
                read_token(host_config),
                installation,
                trust,
                config.sandbox_host_patience_seconds,
            )
            for host_config in config.sandbox_hosts
        }
        self._tunnels = {
            name: HostTunnel(host, trust, config.inner_port, self._background)
            for name, host in self.hosts.items()
        }

    @property
    def kind(self) -> SandboxKind:
        gaps = {name: host.info.isolation_gap for name, host in self.hosts.items() if host.info}
        warnings = [f"Host {name}: {gap}" for name, gap in gaps.items() if gap]
        return SandboxKind(backend="remote", isolation="full", warning=" ".join(warnings) or None)

    async def open(self) -> None:
        """Contacts all sandbox hosts (other machines that run sandboxes). A host that does not answer now is
        contacted again later.
        """
        await asyncio.gather(*(self._look(host) for host in self.hosts.values()))

    async def secure(self) -> None:
        for host in self.hosts.values():
            self._background.start(self._attend(host), name=f"sandbox host {host.name}")

    async def keep_secure(self) -> None:
        """Does nothing, because each sandbox host watches its packet filter itself."""

    async def examine(self) -> None:
        """Does nothing, because each sandbox host tests the isolation of its sandboxes itself."""

    def inner_addresses(self) -> list[str]:
        """Returns the loopback address, on which the inner listener (the app server's port for sandboxes)
        must answer. Sandboxes need no other address of this machine: this process opens connections to the
        sandbox hosts and forwards the sandboxes' data to its own inner listener.
        """
        return ["127.0.0.1"]

    async def prepare(
        self, report: Report, base: BaseImage | None = None, sandbox_id: UUID | None = None
    ) -> None:
        """Prepares the image on the sandbox host of this sandbox (the other machine that runs it), because
        each host stores images separately. Does nothing if `sandbox_id` is None.

        Raises StartFailure if no sandbox host is available, if the host does not answer, or if it cannot
        prepare the image.
        """
        if sandbox_id is None:
            return
        host = await self._settle(sandbox_id)
        await self._await_ready(host, report)
        await (host.prepare_base(base, report) if base else host.prepare(report))

    async def start(
        self, sandbox_id: UUID, session_key: str, report: Report, base: str | None = None
    ) -> Machine:
        host = await self._settle(sandbox_id)
        await self._await_ready(host, report)
        authority = await asyncio.to_thread(read_authority, self._config)
        machine = await host.start(sandbox_id, session_key, report, authority, base)
        self._in_use.add(sandbox_id)
        return Machine(
            spec_id=f"{SPEC_PREFIX}{machine.image}",
            url=host.agent_url(sandbox_id),
            working_root=machine.working_root,
            inner_url=machine.inner_url,
            headers=host.headers,
        )

    async def find_dead(self, sandbox_ids: Collection[UUID]) -> set[UUID]:
        """Returns the ids of those given sandboxes whose container does not run. Leaves out each sandbox
        whose host does not answer now, because its container may still run. When the host has not answered
        for the time in the setting `sandbox_host_patience_seconds`, `find_lost` returns the sandboxes of that
        host. `find_lost` also returns the sandboxes of a host that is not in the settings any more.
        """
        states = await self._states()
        dead: set[UUID] = set()
        for sandbox_id in sandbox_ids:
            host = self._placements.host_of(sandbox_id)
            if host is None or (host in states and states[host].get(sandbox_id) != "running"):
                dead.add(sandbox_id)
        return dead

    async def find_lost(self, sandbox_ids: Collection[UUID]) -> Mapping[UUID, StartFailure]:
        """Returns those given sandboxes whose host cannot be reached, or is not in the setting
        SLIPWAY_SANDBOX_HOSTS any more.
        """
        placed = {sandbox_id: self._placements.host_of(sandbox_id) for sandbox_id in sandbox_ids}
        found: dict[UUID, StartFailure] = {}
        for sandbox_id, name in placed.items():
            if name and name not in self.hosts:
                found[sandbox_id] = unlisted(name)
            elif name and self.hosts[name].is_lost:
                found[sandbox_id] = self.hosts[name].lost()
        return found

    async def last_words(self, sandbox_id: UUID) -> LastWords:
        host = self._host_of(sandbox_id)
        if host is None:
            return LastWords("The sandbox is not on any host.", "", fix="Start a new conversation.")
        return await host.last_words(sandbox_id)

    async def freeze(self, sandbox_id: UUID) -> None:
        if host := self._host_of(sandbox_id):
            await host.freeze(sandbox_id)

    async def find_frozen(self) -> set[UUID]:
        states = await self._states()
        return {each for found in states.values() for each, state in found.items() if state == "halted"}

    async def stop(self, sandbox_id: UUID) -> None:
        self._in_use.discard(sandbox_id)
        if host := self._host_of(sandbox_id):
            await host.stop(sandbox_id)

    async def export(
        self, sandbox_id: UUID, parts: Sequence[str], sink: TarSink, folder: str | None = None
    ) -> None:
        host = await self._settle(sandbox_id)
        await asyncio.to_thread(host.export, sandbox_id, parts, sink, folder)

    async def restore(self, sandbox_id: UUID, source: TarSource) -> None:
        host = await self._settle(sandbox_id)
        await asyncio.to_thread(host.restore, sandbox_id, source)

    @property
    def workspace_limit(self) -> WorkspaceCapacity:
        """Returns the smallest workspace size limit of all sandbox hosts. The field `kept_by` says how the
        limit is enforced. It is "none" if a host has no limit. It is "disk" if each workspace is a separate
        disk on all hosts. Otherwise, it is "watch" (sizes are measured).
        """
        known = [host.info for host in self.hosts.values() if host.info]
        limits = [info.workspace_bytes for info in known if info.workspace_bytes is not None]
        kept_by: Literal["disk", "watch", "none"] = "none"
        if len(limits) == len(known) and limits:
            kept_by = "disk" if all(info.workspace_kept_by == "disk" for info in known) else "watch"
        return WorkspaceCapacity(min(limits, default=None), kept_by)

    async def watched_bytes(self, sandbox_id: UUID) -> int | None:
        host = self._host_of(sandbox_id)
        return await host.size(sandbox_id) if host else None

    async def delete(self, sandbox_id: UUID) -> None:
        self._in_use.discard(sandbox_id)
        self._intended.pop(sandbox_id, None)
        if host := self._host_of(sandbox_id):
            await host.delete(sandbox_id)
            await asyncio.to_thread(self._placements.forget, sandbox_id, host.name)

    async def forget(self, sandbox_id: UUID) -> None:
        """Deletes the data that the deleted sandbox has left on sandbox hosts on which it ran before. If such
        a host cannot be reached, the data is deleted when the host answers again.
        """
        await asyncio.to_thread(self._placements.mark_deleted, sandbox_id)
        placement = self._placements.get(sandbox_id)
        for name in placement.left if placement else ():
            if (host := self.hosts.get(name)) and not host.is_lost:
                await host.delete(sandbox_id)
                await asyncio.to_thread(self._placements.forget, sandbox_id, name)

    async def abandon(self, sandbox_id: UUID) -> None:
        """Removes the assignment of the sandbox to its lost host (a host that cannot be reached), so that the
        sandbox can start on another host.

        The data on the lost host stays there.
        """
        self._in_use.discard(sandbox_id)
        await asyncio.to_thread(self._placements.leave, sandbox_id)

    def host_name(self, sandbox_id: UUID) -> str | None:
        return self._placements.host_of(sandbox_id)

    @property
    def spare_bytes(self) -> int:
        """Returns zero, because the app server starts no containers in advance for this backend. Each sandbox
        host starts such containers itself, and has already subtracted their memory from the capacity that the
        host reports.
        """
        return 0

    async def spare_bytes_of_others(self) -> int:
        return 0

    @property
    def lacks_spare(self) -> bool:
        return False

    async def capacities(self) -> list[int] | None:
        found = [self._capacity(host) for host in self.hosts.values() if not host.is_lost and host.info]
        return found or None  # the start tells why

    async def memory_capacity(self, sandbox_id: UUID, held: Collection[UUID]) -> MemoryCapacity:
        """Returns the memory capacity of the host on which the sandbox would start. For a new sandbox,
        chooses the host with the most free memory, and remembers this choice. After that, the new sandbox
        counts as a sandbox of this host. `held`: the ids of all sandboxes that use memory.

        If no host can be used, or if the sandbox's host cannot be reached, returns a capacity without a
        maximum. The start of the sandbox then reports the reason.
        """
        name = self._placements.host_of(sandbox_id)
        if name is None:
            candidates = [host.name for host in self.hosts.values() if not host.is_lost and host.info]
            if not candidates:
                return MemoryCapacity(set(), None)  # the start tells why
            name = max(candidates, key=lambda each: self._free(each, held))
            self._intended[sandbox_id] = name
        host = self.hosts.get(name)
        if host is None or host.is_lost:
            return MemoryCapacity(set(), None)
        return MemoryCapacity(self._beside(name, held), self._capacity(host))

    async def replenish(self) -> None:
        """Does nothing, because each sandbox host itself starts containers in advance for new sandboxes."""

    async def yield_spare(self) -> bool:
        return False

    async def close(self) -> None:
        await self._background.close()
        if self._config.stop_sandboxes_on_exit:
            await asyncio.gather(*(self._end(sandbox_id) for sandbox_id in list(self._in_use)))
        await asyncio.gather(*(host.close() for host in self.hosts.values()))

    async def _end(self, sandbox_id: UUID) -> None:
        try:
            await self.stop(sandbox_id)
        except StartFailure as failure:
            # The other sandboxes must still be stopped.
            extra = {"sandbox_id": sandbox_id.hex, "cause": failure.cause}
            logger.warning("a sandbox could not be stopped", extra=extra)

    async def _look(self, host: Host) -> None:
        try:
            await host.greet()
        except StartFailure as failure:
            logger.warning(
                "a sandbox host cannot be used", extra={"cause": failure.cause, "fix": failure.fix}
            )

    async def _attend(self, host: Host) -> None:
        """Calls a sandbox host (another machine that runs sandboxes) regularly until the task is cancelled.
        So the app server notices when the host cannot be reached, and when it can be reached again.

        When the host can be reached again, first stops or deletes the sandboxes that must not run there any
        more. After that, opens the tunnel through which the host's sandboxes reach the app server. Closes the
        tunnel when the host is lost.
        """
        tunnel: asyncio.Task[None] | None = None
        while True:
            try:
                if tunnel is None:
                    await host.greet()
                    await welcome(host, self._placements)
                    tunnel = self._background.start(
                        self._tunnels[host.name].keep_open(), name=f"tunnel to {host.name}"
                    )
                else:
                    await host.greet()
            except StartFailure as failure:
                if tunnel is not None and host.is_lost:
                    tunnel.cancel()
                    tunnel = None
                    extra = {"host": host.name, "cause": failure.cause}
                    logger.warning("a sandbox host does not answer", extra=extra)
            await asyncio.sleep(WATCH_SECONDS)

    async def _states(self) -> dict[str, Mapping[UUID, MachineState]]:
        """Returns the states of the containers of the sandboxes on each host, by host name. Leaves out hosts
        that do not answer.
        """
        hosts = [host for host in self.hosts.values() if not host.is_lost]
        found = await asyncio.gather(*(_states_of(host) for host in hosts))
        return {host.name: states for host, states in zip(hosts, found, strict=True) if states is not None}

    async def _settle(self, sandbox_id: UUID) -> Host:
        """Returns the host of the sandbox. If the sandbox is new, assigns it to a host and stores the
        assignment.

        Raises StartFailure if the assigned host is not in the setting SLIPWAY_SANDBOX_HOSTS, or if the
        sandbox is new and no host is available.
        """
        name = self._placements.host_of(sandbox_id)
        if name is None:
            name = self._intended.pop(sandbox_id, None) or self._roomiest()
            await asyncio.to_thread(self._placements.put, sandbox_id, name)
        host = self.hosts.get(name)
        if host is None:
            raise unlisted(name)
        return host

    def _roomiest(self) -> str:
        able = [host for host in self.hosts.values() if not host.is_lost and host.info]
        if not able:
            raise next(iter(self.hosts.values())).lost()
        return max(able, key=self._capacity).name

    async def _await_ready(self, host: Host, report: Report) -> None:
        if host.is_ready.is_set():
            return
        if host.is_lost:
            raise host.lost()
        report(f"Waiting for the connection to the sandbox host {host.name}")
        try:
            await asyncio.wait_for(host.is_ready.wait(), READY_SECONDS)
        except TimeoutError:
            raise StartFailure(
                "sandbox_host_refused",
                f"The sandbox host {host.name} answers, but does not connect its sandboxes with this server.",
                fix="Read the log of both for the reason; a host works for one app server alone.",
            ) from None

    def _host_of(self, sandbox_id: UUID) -> Host | None:
        name = self._placements.host_of(sandbox_id)
        return self.hosts.get(name) if name else None

    def _beside(self, name: str, held: Collection[UUID]) -> set[UUID]:
        return {each for each in held if (self._placements.host_of(each) or self._intended.get(each)) == name}

    def _free(self, name: str, held: Collection[UUID]) -> int:
        taken = len(self._beside(name, held)) * self._config.sandbox_memory_bytes
        return self._capacity(self.hosts[name]) - taken

    def _capacity(self, host: Host) -> int:
        """Returns the memory in bytes that this app server may use for sandboxes on the host. Returns 0 if
        the host has not described itself yet.

        The host and this app server may have different memory limits for one sandbox. The host's limit
        determines how many sandboxes fit on the host. But this app server counts each sandbox with this app
        server's limit. Therefore the result is that number of sandboxes times this app server's limit.
        """
        if host.info is None:
            return 0
        return host.info.capacity_bytes // host.info.sandbox_memory_bytes * self._config.sandbox_memory_bytes


async def _states_of(host: Host) -> Mapping[UUID, MachineState] | None:
    try:
        return await host.states()
    except StartFailure as failure:
        logger.warning("a sandbox host cannot be asked", extra={"host": host.name, "cause": failure.cause})
        return None
