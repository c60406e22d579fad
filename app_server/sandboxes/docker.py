"""Sandboxes that are Docker containers, hardened, on a network without a way out.

They are found again by name, so nothing has to be remembered of them. All calls of the Docker SDK block and
run in a few threads of our own.
"""

import asyncio
import io
import logging
import tarfile
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from app_server.config import Config
from app_server.errors import StartFailure
from app_server.sandboxes.backend import LastWords, Machine, Report, SandboxKind
from app_server.sandboxes.disks import Disks
from app_server.sandboxes.engine import ask, connect, unavailable
from app_server.sandboxes.firewall import NotFiltered, admit_only, advice, withdraw
from app_server.sandboxes.hardening import AGENT_UID, hardened, require_runtime
from app_server.sandboxes.images import ensure_image
from app_server.sandboxes.network import BRIDGE, NETWORK, ensure_network
from app_server.sandboxes.reach import is_host_reachable
from app_server.sandboxes.recipe import image_name

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

logger = logging.getLogger(__name__)

LABEL = "slipway.sandbox"
AGENT_PORT = 8000
WORKSPACE = "/workspace"
PROJECT = "project"
CONVERSATIONS = "conversations"
SESSION_KEY_FILE = ".session-key"
THREADS = 8
STOP_SECONDS = 3
LOG_LINES = 60
_NAME_PREFIX = "slipway-sandbox-"

Result = TypeVar("Result")


class DockerBackend:
    def __init__(self, config: Config) -> None:
        self._config = config
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="docker")
        self._client: DockerClient | None = None
        self._gateway: str | None = None
        self._image: str | None = None
        self._is_admitted = False
        self._not_filtered: str | None = None
        self._is_examined = False
        self._gap: str | None = None
        self._in_use: set[UUID] = set()
        self._disks = Disks(config.home / "disks")

    @property
    def kind(self) -> SandboxKind:
        return SandboxKind(backend="docker", isolation="full", warning=self._gap)

    async def open(self) -> None:
        """Connects, and makes the network of the sandboxes. Raises StartFailure `docker_unavailable`."""
        if self._client is None:
            self._client = await self._in_thread(connect)
        self._gateway = await self._in_thread(ensure_network, self._client)

    async def secure(self) -> None:
        if self._gateway is None:
            return
        try:
            await asyncio.to_thread(admit_only, BRIDGE, self._gateway, self._config.inner_port)
            self._is_admitted = True
        except NotFiltered as error:
            self._not_filtered = str(error)

    async def examine(self) -> None:
        """Tries out from a container whether this host is closed to it."""
        client, image = self._engine(), await asyncio.to_thread(image_name, self._config)
        if self._is_examined or not await self._in_thread(_has_image, client, image):
            return
        self._is_examined = True
        options = {**hardened(self._config), "network": NETWORK}
        if await self._in_thread(is_host_reachable, client, image, options, str(self._gateway)):
            self._gap = self._describe_gap()
            logger.warning("sandboxes reach services of this host", extra={"cause": self._gap})

    def inner_addresses(self) -> list[str]:
        return [self._gateway or "127.0.0.1"]

    def _describe_gap(self) -> str:
        why = f" ({self._not_filtered})" if self._not_filtered else ""
        return (
            "Agents can call services that this machine offers on all of its addresses: nothing filters what "
            f"comes from their network{why}. {advice(BRIDGE, str(self._gateway), self._config.inner_port)}"
        )

    @property
    def image(self) -> str | None:
        """What sandboxes start from; known once it is prepared."""
        return self._image

    async def prepare(self, report: Report) -> None:
        client = self._engine()

        async def has_image(name: str) -> bool:
            return await self._in_thread(_has_image, client, name)

        await self._in_thread(require_runtime, client, self._config.sandbox_runtime)
        self._image = await ensure_image(self._config, has_image, report)

    async def start(self, sandbox_id: UUID, session_key: str, report: Report) -> Machine:
        client, image = self._engine(), self._image
        assert image, "prepare() comes first"
        container = await self._in_thread(_find, client, sandbox_id)
        if container and not self._fits(container):
            # What it was created with cannot be changed. The workspace, a volume, stays.
            await self._in_thread(_remove, container)
            container = None
        if container is None or container.status not in {"running", "paused"}:
            await self._in_thread(self._ready_volume, client, sandbox_id)
        if container is None:
            report("Creating the container")
            container = await self._in_thread(self._create, client, image, sandbox_id)
        if container.status != "running":
            report("Starting the container")
            await self._in_thread(_start, container, session_key)
        self._in_use.add(sandbox_id)
        address = await self._in_thread(_address, container)
        return Machine(
            spec_id=str(container.attrs["Config"]["Image"]),
            url=f"http://{address}:{AGENT_PORT}",
            working_root=f"{WORKSPACE}/{PROJECT}",
            inner_url=self._inner_url,
        )

    async def find_dead(self, sandbox_ids: Collection[UUID]) -> set[UUID]:
        running = await self._in_thread(_names, self._engine(), "running")
        return {sandbox_id for sandbox_id in sandbox_ids if _name(sandbox_id) not in running}

    async def last_words(self, sandbox_id: UUID) -> LastWords:
        return await self._in_thread(_last_words, self._engine(), sandbox_id)

    async def freeze(self, sandbox_id: UUID) -> None:
        await self._in_thread(_freeze, self._engine(), sandbox_id)

    async def find_frozen(self) -> set[UUID]:
        names = await self._in_thread(_names, self._engine(), "paused")
        return {UUID(name.removeprefix(_NAME_PREFIX)) for name in names}

    async def stop(self, sandbox_id: UUID) -> None:
        self._in_use.discard(sandbox_id)
        await self._in_thread(_stop, self._engine(), sandbox_id)
        await self._in_thread(self._disks.detach, _name(sandbox_id))

    async def delete(self, sandbox_id: UUID) -> None:
        self._in_use.discard(sandbox_id)
        await self._in_thread(_delete, self._engine(), sandbox_id)
        await self._in_thread(self._disks.remove, _name(sandbox_id))

    async def close(self) -> None:
        """Containers go on without us, unless they are to end with the server; our connections end."""
        if self._client:
            if self._config.stop_sandboxes_on_exit:
                await asyncio.gather(*(self._end(sandbox_id) for sandbox_id in list(self._in_use)))
            if self._is_admitted:
                await self._withdraw()
            await self._in_thread(self._client.close)
        self._threads.shutdown(wait=False)

    async def _withdraw(self) -> None:
        try:
            await asyncio.to_thread(withdraw, str(self._gateway), self._config.inner_port)
        except NotFiltered as error:
            logger.warning("a port stays open to containers", extra={"cause": str(error)})

    async def _end(self, sandbox_id: UUID) -> None:
        try:
            await self.stop(sandbox_id)
        except StartFailure as failure:
            # The others must end all the same.
            extra = {"sandbox_id": sandbox_id.hex, "cause": failure.cause}
            logger.warning("a container could not be stopped", extra=extra)

    @property
    def _inner_url(self) -> str:
        return f"http://{self._gateway}:{self._config.inner_port}"

    @property
    def _webhooks(self) -> str:
        return f"OH_WEBHOOKS_0_BASE_URL={self._inner_url}/api/v1/webhooks"

    def _fits(self, container: "Container") -> bool:
        wanted = self._config.sandbox_runtime
        runs_so = wanted in {None, container.attrs["HostConfig"].get("Runtime")}
        return runs_so and self._webhooks in container.attrs["Config"]["Env"]

    def _engine(self) -> "DockerClient":
        if self._client is None or self._gateway is None:
            raise unavailable(
                "The Docker engine has not answered since Slipway started.",
                fix="Start Docker: Slipway notices within seconds. SLIPWAY_SANDBOX=process does without.",
            )
        return self._client

    async def _in_thread(self, call: Callable[..., Result], *arguments: Any) -> Result:
        """Runs a blocking call of the SDK; an engine that does not answer or refuses is a StartFailure."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, ask, call, *arguments)

    def _ready_volume(self, client: "DockerClient", sandbox_id: UUID) -> None:
        """Its workspace, if that is to be, or is, on a disk of its own; others the engine makes by itself."""
        name, size = _name(sandbox_id), self._config.sandbox_disk_bytes
        if not self._disks.holds(name):
            if size is None or _has_volume(client, name):
                return
            self._disks.make(name, size, owner=AGENT_UID, directories=[PROJECT, CONVERSATIONS])
        options = self._disks.attach(name)
        if not _has_volume(client, name):
            client.volumes.create(name, driver="local", driver_opts=dict(options))

    def _create(self, client: "DockerClient", image: str, sandbox_id: UUID) -> "Container":
        return client.containers.create(
            image,
            name=_name(sandbox_id),
            labels={LABEL: sandbox_id.hex},
            environment=[self._webhooks],
            network=NETWORK,
            volumes={_name(sandbox_id): {"bind": WORKSPACE, "mode": "rw"}},
            **hardened(self._config),
        )


def _has_image(client: "DockerClient", name: str) -> bool:
    from docker.errors import ImageNotFound

    try:
        client.images.get(name)
    except ImageNotFound:
        return False
    return True


def _has_volume(client: "DockerClient", name: str) -> bool:
    from docker.errors import NotFound

    try:
        client.volumes.get(name)
    except NotFound:
        return False
    return True


def _find(client: "DockerClient", sandbox_id: UUID) -> "Container | None":
    from docker.errors import NotFound

    try:
        return client.containers.get(_name(sandbox_id))
    except NotFound:
        return None


def _start(container: "Container", session_key: str) -> None:
    if container.status == "paused":
        container.unpause()
        return
    # The entrypoint reads the key and removes the file before any command of the agent runs, so it is
    # written anew for each start. In the environment everybody inside could read it (/proc/1/environ).
    container.put_archive(WORKSPACE, _session_key_archive(session_key))
    container.start()


def _session_key_archive(session_key: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        member = tarfile.TarInfo(SESSION_KEY_FILE)
        member.size, member.mode, member.uid, member.gid = len(session_key), 0o400, AGENT_UID, AGENT_UID
        tar.addfile(member, io.BytesIO(session_key.encode()))
    return buffer.getvalue()


def _address(container: "Container") -> str:
    container.reload()
    address = container.attrs["NetworkSettings"]["Networks"].get(NETWORK, {}).get("IPAddress")
    if not address:
        words = _words_of(container)
        raise StartFailure(words.code, words.cause, fix=words.fix, output=words.output)
    return str(address)


def _names(client: "DockerClient", status: str) -> set[str]:
    # sparse: one call, without an inspection of each.
    found = client.containers.list(filters={"label": LABEL, "status": status}, sparse=True)
    return {name.removeprefix("/") for container in found for name in container.attrs["Names"]}


def _last_words(client: "DockerClient", sandbox_id: UUID) -> LastWords:
    container = _find(client, sandbox_id)
    if container is None:
        return LastWords(cause="The sandbox's container is gone.", output="", fix="Start a new conversation.")
    return _words_of(container)


def _words_of(container: "Container") -> LastWords:
    state = container.attrs["State"]
    output = container.logs(tail=LOG_LINES).decode(errors="replace")
    if state.get("OOMKilled"):
        return LastWords(
            code="sandbox_out_of_memory",
            cause="The sandbox ran out of memory and was ended.",
            output=output,
            fix="Give sandboxes more memory: SLIPWAY_SANDBOX_MEMORY_BYTES.",
        )
    if state.get("Running"):
        return LastWords(cause="The container runs, but its agent server does not answer.", output=output)
    reason = state.get("Error") or f"exit status {state.get('ExitCode')}"
    return LastWords(cause=f"The sandbox's container ended ({reason}).", output=output)


def _freeze(client: "DockerClient", sandbox_id: UUID) -> None:
    container = _find(client, sandbox_id)
    if container and container.status == "running":
        container.pause()


def _stop(client: "DockerClient", sandbox_id: UUID) -> None:
    if container := _find(client, sandbox_id):
        if container.status == "paused":
            container.unpause()  # a halted process hears no signal, and could not end in order
        container.stop(timeout=STOP_SECONDS)


def _delete(client: "DockerClient", sandbox_id: UUID) -> None:
    from docker.errors import NotFound

    if container := _find(client, sandbox_id):
        _remove(container)
    try:
        client.volumes.get(_name(sandbox_id)).remove()
    except NotFound:
        return


def _remove(container: "Container") -> None:
    from docker.errors import NotFound

    try:
        container.remove(force=True)
    except NotFound:
        return  # somebody else was faster


def _name(sandbox_id: UUID) -> str:
    return f"{_NAME_PREFIX}{sandbox_id.hex}"
