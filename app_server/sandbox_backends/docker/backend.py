"""Runs each sandbox as a hardened Docker container, on a network without a connection to the outside.

The backend finds containers by their names, so it stores nothing about containers. All calls of the Docker
SDK block the thread; they run in a few separate threads.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from app_server.core.config import Config
from app_server.core.errors import StartFailure
from app_server.core.start_report import Report
from app_server.docker_engine.connection import ask, connect, unavailable
from app_server.docker_engine.labels import owner_of_helpers
from app_server.http.sandbox_authority import trust_variables
from app_server.sandbox_backends.backend import (
    LastWords,
    Machine,
    MachineState,
    OneMachine,
    SandboxKind,
    WorkspaceCapacity,
    workspace_missing,
)
from app_server.sandbox_backends.docker import containers
from app_server.sandbox_backends.docker.containers import (
    AGENT_PORT,
    LABEL,
    SESSION_KEY_FILE,
    WORKSPACE,
    name_of,
)
from app_server.sandbox_backends.docker.hardening import hardened, require_runtime
from app_server.sandbox_backends.docker.host_protection import HostProtection
from app_server.sandbox_backends.docker.host_reachability import LABEL as PROBE_LABEL
from app_server.sandbox_backends.docker.network import NETWORK, ensure_network
from app_server.sandbox_backends.docker.volumes import Volumes
from app_server.sandbox_backends.docker.warm_pool import WarmPool
from app_server.sandbox_backends.docker.warm_pool_registry import (
    POOL_FOLDER,
    WarmPoolRegistry,
    installation_of,
)
from app_server.sandbox_backends.docker.workspace import carry_in, carry_out, remove_carrier
from app_server.sandbox_backends.workspace_tar import PROJECT, TarSink, TarSource
from app_server.sandbox_images.base_image import BaseImage
from app_server.sandbox_images.definition import image_name
from app_server.sandbox_images.images import ensure_image
from app_server.sandbox_images.preflight import LOOK_LABEL
from app_server.sandbox_images.running_builds import Builds

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

logger = logging.getLogger(__name__)

GIT_OUTLET = "OH_GIT_OUTLET_PORT=8020"
THREADS = 8
OVERCOMMIT = 1.5
"""The maximum for the sum of all sandboxes' memory limits, as a multiple of the machine's memory. It is above
1, because sandboxes rarely use all memory that they may use. Example: six sandboxes of 4 GiB on 16 GiB.
"""

Result = TypeVar("Result")


class DockerBackend(OneMachine):
    def __init__(self, config: Config) -> None:
        self._config = config
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="docker")
        self._client: DockerClient | None = None
        self._gateway: str | None = None
        self._image: str | None = None
        self._builds = Builds()
        self._protection = HostProtection(config)
        self._examining = asyncio.Lock()
        self._is_examined = False
        self._capacity_bytes: int | None = None
        self._in_use: set[UUID] = set()
        self._volumes = Volumes(config)
        members = WarmPoolRegistry(config.home / POOL_FOLDER)
        seconds = config.sandbox_start_timeout_seconds
        self._pool = WarmPool(config.pools, members, self, seconds, installation_of(config))

    @property
    def kind(self) -> SandboxKind:
        return SandboxKind(backend="docker", isolation="full", warning=self._protection.gap)

    async def open(self) -> None:
        """Connects to the Docker engine and creates the Docker network of the sandboxes.

        Raises StartFailure `docker_unavailable` if the engine does not answer or runs on another machine.
        Raises StartFailure `sandbox_network_foreign` if the network already exists and has unsafe options.
        """
        if self._client is None:
            self._client = await self.call(connect)
        self._gateway = await self.call(ensure_network, self._client)

    async def secure(self) -> None:
        if self._gateway is None:
            return
        await self.call(self._clear_up, self._engine())
        await self._protection.set_up(self._gateway)

    async def keep_secure(self) -> None:
        await self._protection.renew()

    def _clear_up(self, client: "DockerClient") -> None:
        """Detaches the workspace disks that no container uses. Also removes helper containers, which test the
        network or inspect an image, and which an app server has left over when it was killed. Keeps those of
        app servers with another home directory, because these may still run.
        """
        self._volumes.detach_unused(client)
        for label in (LOOK_LABEL, PROBE_LABEL):
            containers.remove_labelled(client, label, owner_of_helpers(self._config))

    async def examine(self) -> None:
        """Starts a test container to find out whether workspaces can be separate disks and whether sandboxes
        can reach this host. Does nothing if both are known already, or if the sandbox image is missing.
        """
        client, image = self._engine(), await asyncio.to_thread(image_name, self._config)
        async with self._examining:
            if self._is_examined or not await self._has_image(client, image):
                return
            await self.call(self._volumes.try_out, client, image)
            await self.call(self._protection.examine, client, image, str(self._gateway))
            self._is_examined = True

    def inner_addresses(self) -> list[str]:
        return [self._gateway or "127.0.0.1"]

    @property
    def image(self) -> str | None:
        """The name of the sandbox image that was prepared last; None before the first call of `prepare`."""
        return self._image

    async def prepare(
        self,
        report: Report,
        base: BaseImage | None = None,
        sandbox_id: UUID | None = None,  # noqa: ARG002 (there is but one engine)
    ) -> None:
        await self.call(require_runtime, self._engine(), self._config.sandbox_runtime)
        self._image = await ensure_image(self._config, self.has_image, report, base, self._builds)

    async def start(
        self, sandbox_id: UUID, session_key: str, report: Report, base: str | None = None
    ) -> Machine:
        client, image = self._engine(), await asyncio.to_thread(image_name, self._config, base)
        container = await self.call(containers.find, client, name_of(sandbox_id))
        if container is None:
            container = await self._pool.take(client, sandbox_id, name_of(sandbox_id), base)
        if container and not self._fits(container):
            # What it was created with cannot be changed. The workspace, a volume, stays.
            await self.call(containers.remove, container)
            container = None
        volume = await asyncio.to_thread(self._volume, sandbox_id)
        is_up = container is not None and container.status in {"running", "paused"}
        if not is_up:
            await self.call(self._volumes.ready, client, volume, image)
        if container is None:
            report("Creating the container")
            labels = {LABEL: sandbox_id.hex}
            container = await self.call(self._create, client, image, name_of(sandbox_id), volume, labels)
        if container.status != "running":
            report("Starting the container")
            await self.call(containers.start, container, SESSION_KEY_FILE, session_key)
        self._in_use.add(sandbox_id)
        url = f"http://{await self.call(containers.address, container)}:{AGENT_PORT}"
        if is_up and not await self._pool.hand_over(sandbox_id, url, session_key):
            await self.call(containers.remove, container)
            return await self.start(sandbox_id, session_key, report, base)
        return Machine(
            spec_id=str(container.attrs["Config"]["Image"]),
            url=url,
            working_root=f"{WORKSPACE}/{PROJECT}",
            inner_url=self._inner_url,
        )

    async def find_dead(self, sandbox_ids: Collection[UUID]) -> set[UUID]:
        running = await self.call(containers.names, self._engine(), "running")
        return {sandbox_id for sandbox_id in sandbox_ids if name_of(sandbox_id) not in running}

    async def last_words(self, sandbox_id: UUID) -> LastWords:
        return await self.call(containers.last_words, self._engine(), name_of(sandbox_id))

    async def freeze(self, sandbox_id: UUID) -> None:
        await self.call(containers.freeze, self._engine(), name_of(sandbox_id))

    async def find_frozen(self) -> set[UUID]:
        return set(containers.sandboxes_of(await self.call(containers.names, self._engine(), "paused")))

    async def stop(self, sandbox_id: UUID) -> None:
        self._in_use.discard(sandbox_id)
        await self.call(containers.stop, self._engine(), name_of(sandbox_id))
        await self.call(self._detach, sandbox_id)

    async def export(
        self, sandbox_id: UUID, parts: Sequence[str], sink: TarSink, folder: str | None = None
    ) -> None:
        await self.call(self._export, self._engine(), sandbox_id, parts, sink, folder)

    async def restore(self, sandbox_id: UUID, source: TarSource) -> None:
        await self.delete(sandbox_id)
        await self.call(self._restore, self._engine(), sandbox_id, source)

    @property
    def workspace_limit(self) -> WorkspaceCapacity:
        return self._volumes.limit

    async def watched_bytes(self, sandbox_id: UUID) -> int | None:
        volume = await asyncio.to_thread(self._volume, sandbox_id)
        if self.workspace_limit.bytes is None or self._volumes.is_on_disk(volume):
            return None
        return await self.call(containers.measure, self._engine(), name_of(sandbox_id))

    async def delete(self, sandbox_id: UUID) -> None:
        self._in_use.discard(sandbox_id)
        await self.call(self._delete, self._engine(), sandbox_id)

    @property
    def spare_bytes(self) -> int:
        return self._pool.held_bytes

    @property
    def lacks_spare(self) -> bool:
        return self._pool.lacks_one

    async def capacities(self) -> Sequence[int]:
        if self._config.sandbox_memory_total_bytes:
            return [self._config.sandbox_memory_total_bytes]
        if self._capacity_bytes is None:
            total = int((await self.call(self._engine().info))["MemTotal"])
            self._capacity_bytes = max(int(total * OVERCOMMIT), self._config.sandbox_memory_bytes)
        return [self._capacity_bytes]

    async def states(self) -> dict[UUID, MachineState]:
        """Returns the state of the container of each sandbox on this Docker engine: running, halted (paused)
        or stopped. Includes sandboxes of other Slipway installations.
        """
        found = await self.call(containers.states, self._engine())
        return {sandbox_id: found[name] for sandbox_id, name in containers.sandboxes_of(found).items()}

    async def agent_address(self, sandbox_id: UUID) -> str:
        """Returns the current network address of the sandbox's agent server. Raises StartFailure if the
        container does not run.
        """
        container = await self.call(containers.find, self._engine(), name_of(sandbox_id))
        if container is None:
            raise workspace_missing()
        return await self.call(containers.address, container)

    async def engine_version(self) -> str:
        return str((await self.call(self._engine().version))["Version"])

    async def has_image(self, name: str) -> bool:
        return await self._has_image(self._engine(), name)

    async def replenish(self) -> None:
        await self._pool.replenish(self._engine())

    async def spare_bytes_of_others(self) -> int:
        return await self._pool.held_by_others(self._engine()) if self._config.is_database_shared else 0

    async def yield_spare(self) -> bool:
        if await self._pool.yield_one(self._engine()):
            return True
        return self._config.is_database_shared and await self._pool.yield_of_others(self._engine())

    async def close(self) -> None:
        """Closes all connections to the Docker engine and removes the containers that were started in
        advance. The containers of sandboxes keep running, unless the configuration says that they stop with
        the app server.
        """
        await self._pool.close(self._client)
        if self._client:
            if self._config.stop_sandboxes_on_exit:
                await asyncio.gather(*(self._end(sandbox_id) for sandbox_id in list(self._in_use)))
            await self._protection.withdraw()
        # A call that is still under way would open a connection that is never closed.
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)
        if self._client:
            await asyncio.to_thread(self._client.close)

    async def _end(self, sandbox_id: UUID) -> None:
        try:
            await self.stop(sandbox_id)
        except StartFailure as failure:
            # The other sandboxes must still be stopped.
            extra = {"sandbox_id": sandbox_id.hex, "cause": failure.cause}
            logger.warning("a container could not be stopped", extra=extra)

    @property
    def _inner_url(self) -> str:
        return f"http://{self._gateway}:{self._config.inner_port}"

    @property
    def _environment(self) -> list[str]:
        return [
            f"OH_WEBHOOKS_0_BASE_URL={self._inner_url}/api/v1/webhooks",
            f"OH_EGRESS_PROXY_URL={self._inner_url}",
            GIT_OUTLET,
            *(f"{name}={value}" for name, value in trust_variables(self._config).items()),
        ]

    def _fits(self, container: "Container") -> bool:
        wanted = self._config.sandbox_runtime
        runs_so = wanted in {None, container.attrs["HostConfig"].get("Runtime")}
        return runs_so and {*self._environment} <= {*container.attrs["Config"]["Env"]}

    def _engine(self) -> "DockerClient":
        if self._client is None or self._gateway is None:
            raise unavailable(
                "The Docker engine has not answered since Slipway started.",
                fix="Start Docker: Slipway notices within seconds. SLIPWAY_SANDBOX=process needs no Docker.",
            )
        return self._client

    async def call(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Runs a blocking call of the Docker SDK in a thread and returns its result. `work`: the function
        that makes the call. `arguments`: the arguments with which `work` is called. Raises StartFailure for
        errors and timeouts of the Docker engine.
        """
        return await asyncio.get_running_loop().run_in_executor(self._threads, ask, work, *arguments)

    async def _has_image(self, client: "DockerClient", name: str) -> bool:
        return await self.call(containers.image_id, client, name) is not None

    def _volume(self, sandbox_id: UUID) -> str:
        return self._pool.volume_of(sandbox_id) or name_of(sandbox_id)

    def _create(
        self, client: "DockerClient", image: str, name: str, volume: str, labels: Mapping[str, str]
    ) -> "Container":
        return client.containers.create(
            image,
            name=name,
            labels=dict(labels),
            environment=self._environment,
            network=NETWORK,
            volumes={volume: {"bind": WORKSPACE, "mode": "rw"}},
            **containers.walls(client, image, self._config),
        )

    def _export(
        self,
        client: "DockerClient",
        sandbox_id: UUID,
        parts: Sequence[str],
        sink: TarSink,
        folder: str | None,
    ) -> None:
        volume = self._volume(sandbox_id)
        if not containers.has_volume(client, volume):
            raise workspace_missing()
        assert self._image, "prepare() comes first"
        self._volumes.ready(client, volume, self._image)
        with containers.halted(client, name_of(sandbox_id)):
            carry_out(client, self._image, volume, WORKSPACE, parts, sink, folder)

    def _restore(self, client: "DockerClient", sandbox_id: UUID, source: TarSource) -> None:
        volume = self._volume(sandbox_id)
        assert self._image, "prepare() comes first"
        self._volumes.ready(client, volume, self._image)
        with self._volumes.filling(volume):
            carry_in(client, self._image, volume, WORKSPACE, source)

    def _detach(self, sandbox_id: UUID) -> None:
        self._volumes.detach(self._volume(sandbox_id))

    def _delete(self, client: "DockerClient", sandbox_id: UUID) -> None:
        volume = self._volume(sandbox_id)
        remove_carrier(client, volume)
        containers.delete(client, name_of(sandbox_id), volume)
        self._volumes.remove_disk(volume)
        self._pool.forget(client, sandbox_id)

    async def digest(self, base: str | None) -> str | None:
        image = await asyncio.to_thread(image_name, self._config, base)
        found = await self.call(containers.image_id, self._engine(), image)
        limits = (self._config.sandbox_disk_bytes, hardened(self._config))
        made_from = (image, found, tuple(self._environment), *limits)
        return hashlib.sha256(repr(made_from).encode()).hexdigest() if found else None

    def make(
        self, client: "DockerClient", base: str | None, name: str, labels: Mapping[str, str]
    ) -> "Container":
        image = image_name(self._config, base)
        self._volumes.ready(client, name, image)
        return self._create(client, image, name, name, labels)

    def unmake(self, client: "DockerClient", name: str) -> None:
        containers.delete(client, name, name)
        self._volumes.remove_disk(name)
