"""The warm pool: containers that are started before a sandbox needs them, and are then paused, so that a
sandbox starts faster. Each container is used by one sandbox only, and only once.

A sandbox claims a container in these steps. First a record of the claim is written (warm_pool_registry.py).
Then the container is renamed, resumed, and given its session key (with which it and the app server
authenticate to each other). All steps can be repeated. If the app server is killed during a claim, the next
start of the sandbox completes the claim.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from uuid import UUID

import httpx

from agent_runtime.wire import INIT_KEY_HEADER, FirstKeys
from app_server.core.background import finish
from app_server.core.errors import StartFailure
from app_server.sandbox_backends.docker import containers
from app_server.sandbox_backends.docker.containers import AGENT_PORT, INIT_KEY_FILE, LABEL
from app_server.sandbox_backends.docker.warm_pool_registry import PREFIX, PooledContainer, WarmPoolRegistry

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

logger = logging.getLogger(__name__)

MEMBER_BYTES = 54 * 1024**2
"""The maximum memory in bytes that a paused container of the warm pool (containers started in advance) uses.
"""
POLL_SECONDS = 0.05
CALL_SECONDS = 5.0
PAUSE_AFTER_FAILURE_SECONDS = 60.0
_OWNER_LABEL = "slipway.pool"
_MADE_LABEL = "slipway.pool.made"
_INSTALLATION_LABEL = "slipway.pool.of"

Result = TypeVar("Result")


class Maker(Protocol):
    """The interface with which the warm pool creates and removes its containers, which are started before
    sandboxes need them. The Docker backend implements this interface.

    `call`: runs the function `work` with `arguments` in a thread and returns its result, because calls to the
    Docker engine block. Errors of the engine are raised as StartFailure.
    """

    async def call(self, work: Callable[..., Result], *arguments: Any) -> Result: ...

    async def digest(self, base: str | None) -> str | None:
        """Returns a hash of everything that determines a new container, such as the image and the options.
        Two containers with the same hash are interchangeable. `base`: the base image of the container; None
        means the app server's default image.

        Returns None if the image is missing.
        """

    def make(
        self, client: "DockerClient", base: str | None, name: str, labels: Mapping[str, str]
    ) -> "Container":
        """Creates a container and a volume with this name, and returns the container without starting it.
        `base`: the base image that the container's image is built on; None means the app server's default
        image. Blocks the thread.
        """

    def unmake(self, client: "DockerClient", name: str) -> None:
        """Removes the container of this name, its volume and the volume's disk. Blocks the thread."""


@dataclass(frozen=True)
class _Ready:
    """A container that was started in advance for a new sandbox (warm pool) and is paused. `made`: a hash of
    everything that determines the container, such as the image and the options. `base`: the container's base
    image; None means the app server's default image.
    """

    member: PooledContainer
    base: str | None
    made: str


class WarmPool:
    """The pool of containers that are started in advance for new sandboxes. `sizes`: the number of containers
    to keep ready for each base image; the key None means the app server's default image. `installation`: an
    id that is the same for all app servers with the same database.

    The pool has fewer containers if an image is missing or if there is not enough memory.
    """

    def __init__(
        self,
        sizes: Mapping[str | None, int],
        registry: WarmPoolRegistry,
        maker: Maker,
        timeout_seconds: float,
        installation: str,
    ) -> None:
        self._sizes = sizes
        self._installation = installation
        self._registry = registry
        self._maker = maker
        self._timeout_seconds = timeout_seconds
        self._ready: list[_Ready] = []
        self._is_reconciled = False
        self._turn = asyncio.Lock()
        self._not_before: dict[str | None, float] = {}
        # A paused container would keep a connection open and not answer on it.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        self._http = httpx.AsyncClient(trust_env=False, limits=limits)

    @property
    def held_bytes(self) -> int:
        return len(self._ready) * MEMBER_BYTES

    async def replenish(self, client: "DockerClient") -> None:
        """Starts one more container for the warm pool (containers started before sandboxes need them) if the
        pool has fewer containers than configured.

        The first call also looks for containers that the app server had started before its last restart, and
        adds them to the pool or removes them.
        """
        if self._turn.locked() or not self.lacks_one:
            return
        async with self._turn:
            made = {base: digest for base in self._sizes if (digest := await self._maker.digest(base))}
            if not self._is_reconciled:
                await self._reconcile(client, made)
                self._is_reconciled = True
            if base_and_made := next(((base, made[base]) for base in self._short() if base in made), None):
                # Not cancelled: `close` must find every container that was begun.
                await finish(self._add(client, *base_and_made))

    async def take(
        self, client: "DockerClient", sandbox_id: UUID, name: str, base: str | None
    ) -> "Container | None":
        """Takes a container that was started in advance, renames it to `name` and returns it. The container
        is still paused and belongs to this sandbox from now on. `base`: the base image that the container
        must have; None means the app server's default image.

        If an interrupted start has already claimed a container for the sandbox, returns that container.
        Returns None if no container is ready. Also returns None if the sandbox already has a workspace,
        because a container of the pool has a new, empty workspace.
        """
        member = await asyncio.to_thread(self._registry.of, sandbox_id)
        if member is None:
            if not self._ready or await self._maker.call(containers.has_volume, client, name):
                return None  # it has a workspace already
            member = await self._claim(client, sandbox_id, base)
        return await self._maker.call(_rename, client, member.name, name) if member else None

    def volume_of(self, sandbox_id: UUID) -> str | None:
        """Returns the name of the sandbox's volume if the sandbox uses a container from the warm pool
        (containers started in advance). Returns None for other sandboxes. Blocks the thread for a moment.
        """
        member = self._registry.of(sandbox_id)
        return member.name if member else None

    async def hand_over(self, sandbox_id: UUID, url: str, session_key: str) -> bool:
        """Sends the session key of the sandbox to the agent server at `url`. The sandbox and the app server
        authenticate to each other with this key. Sends nothing if a key was sent already, or if the sandbox's
        container did not come from the warm pool of containers started in advance.

        Returns False if the agent server does not reply or replies with an unexpected error; then the
        container cannot be used. Otherwise returns True.
        """
        member = await asyncio.to_thread(self._registry.of, sandbox_id)
        if member is None or member.init_key is None:
            return True
        answer = await self._init(url, member.init_key, session_key)
        await asyncio.to_thread(self._registry.hand_over, sandbox_id)
        return answer

    async def yield_one(self, client: "DockerClient") -> bool:
        """Removes one ready container from the warm pool (containers started in advance for new sandboxes),
        to free its memory. Returns False if the pool has no ready container.
        """
        if not self._ready:
            return False
        await self._discard(client, self._ready.pop().member)
        return True

    async def held_by_others(self, client: "DockerClient") -> int:
        """Returns the memory in bytes of the containers that other app servers have started in advance for
        new sandboxes, and that no sandbox has taken yet. Counts only containers on this Docker engine, and
        only those of app servers that use the same database.
        """
        return len(await self._of_others(client)) * MEMBER_BYTES

    async def yield_of_others(self, client: "DockerClient") -> bool:
        """Removes one ready container (started in advance for new sandboxes) of another app server, to free
        the container's memory. The other app server uses the same database. Returns False if there is no such
        container.

        If a sandbox was about to use the removed container, the sandbox starts with a new container.
        """
        for name in await self._of_others(client):
            await self._maker.call(containers.delete, client, name, name)
            return True
        return False

    async def _of_others(self, client: "DockerClient") -> list[str]:
        label = f"{_INSTALLATION_LABEL}={self._installation}"
        owner = await asyncio.to_thread(lambda: self._registry.owner)
        return await self._maker.call(_pooled, client, label, owner)

    def forget(self, client: "DockerClient", sandbox_id: UUID) -> None:
        """Removes the volume and the record of the container that the sandbox had taken from the warm pool
        (containers started in advance). Called after the sandbox was deleted. Blocks the thread.
        """
        if member := self._registry.of(sandbox_id):
            self._maker.unmake(client, member.name)
            self._registry.forget(sandbox_id)

    async def close(self, client: "DockerClient | None") -> None:
        """Removes all ready containers of the warm pool (started in advance for new sandboxes). Called when
        the app server ends, because unused containers use memory. Removes no container if `client` is None.
        """
        async with self._turn:
            try:
                while client and await self.yield_one(client):
                    pass
            except StartFailure as failure:
                # The next server finds the containers by their records.
                logger.warning("pooled containers stay", extra={"cause": failure.cause})
        await self._http.aclose()

    @property
    def lacks_one(self) -> bool:
        """Returns whether fewer containers than configured are ready in the warm pool (containers started in
        advance). Also returns True before the first call of `replenish`, because that call looks for
        containers that the app server had started before its last restart.
        """
        return bool(self._short()) or not self._is_reconciled

    def _short(self) -> list[str | None]:
        """Returns the base images for which the warm pool (containers started in advance) has too few ready
        containers; None stands for the app server's default image. Leaves out images whose last container
        failed to start a short time ago.
        """
        there = Counter(each.base for each in self._ready)
        return [
            base
            for base, size in self._sizes.items()
            if there[base] < size and time.monotonic() > self._not_before.get(base, 0.0)
        ]

    async def _add(self, client: "DockerClient", base: str | None, made: str) -> None:
        member = await asyncio.to_thread(self._registry.new)
        try:
            await self._fill(client, member, base, made)
        except StartFailure as failure:
            self._not_before[base] = time.monotonic() + PAUSE_AFTER_FAILURE_SECONDS
            extra = {"cause": failure.cause, "output": failure.output, "base": base}
            logger.warning("no sandbox can be started ahead of need", extra=extra)
            await self._discard(client, member)

    async def _claim(
        self, client: "DockerClient", sandbox_id: UUID, base: str | None
    ) -> PooledContainer | None:
        made = await self._maker.digest(base)
        while found := next((each for each in self._ready if made == each.made or base == each.base), None):
            self._ready.remove(found)
            if found.made != made:
                await self._discard(client, found.member)
            elif await asyncio.to_thread(self._registry.claim, found.member, sandbox_id):
                return found.member
        return None

    async def _fill(
        self, client: "DockerClient", member: PooledContainer, base: str | None, made: str
    ) -> None:
        labels = {
            LABEL: "pool",
            _OWNER_LABEL: self._registry.owner,
            _MADE_LABEL: made,
            _INSTALLATION_LABEL: self._installation,
        }
        container = await self._maker.call(self._maker.make, client, base, member.name, labels)
        await self._maker.call(containers.start, container, INIT_KEY_FILE, member.init_key)
        address = await self._maker.call(containers.address, container)
        await self._await_standby(container, f"http://{address}:{AGENT_PORT}")
        await self._maker.call(container.pause)
        self._ready.append(_Ready(member, base, made))

    async def _await_standby(self, container: "Container", url: str) -> None:
        deadline = time.monotonic() + self._timeout_seconds
        while not await self._is_standby(url):
            await self._maker.call(containers.address, container)  # raises when it has ended
            if time.monotonic() > deadline:
                raise StartFailure("sandbox_start_timeout", "Its agent server did not answer.", fix="")
            await asyncio.sleep(POLL_SECONDS)

    async def _is_standby(self, url: str) -> bool:
        try:
            reply = await self._http.get(f"{url}/api/init", timeout=CALL_SECONDS)
        except httpx.TransportError:
            return False
        if reply.status_code == httpx.codes.NOT_FOUND:
            cause = "The agent server of this image does not support standby."
            raise StartFailure("sandbox_start_failed", cause, fix="")
        return reply.is_success

    async def _init(self, url: str, init_key: str, session_key: str) -> bool:
        try:
            reply = await self._http.post(
                f"{url}/api/init",
                headers={INIT_KEY_HEADER: init_key},
                json=FirstKeys.of(session_key).settings(),
                timeout=CALL_SECONDS,
            )
        except httpx.TransportError as error:
            logger.warning("a pooled sandbox does not answer", extra={"cause": repr(error)})
            return False
        # 400: an earlier server has sent the key, and was killed before it stored that. 404: the container
        # was restarted.
        return reply.is_success or reply.status_code in {httpx.codes.BAD_REQUEST, httpx.codes.NOT_FOUND}

    async def _discard(self, client: "DockerClient", member: PooledContainer) -> None:
        """Removes a container of the warm pool (containers started in advance), then its record. The record
        is removed last, because the container and its volume can be found only by the record.
        """
        await self._maker.call(self._maker.unmake, client, member.name)
        await asyncio.to_thread(self._registry.discard, member)

    async def _reconcile(self, client: "DockerClient", made: Mapping[str | None, str]) -> None:
        if not await asyncio.to_thread(lambda: self._registry.are_any):
            return
        free = await asyncio.to_thread(self._registry.free)
        claimed = await asyncio.to_thread(self._registry.claimed)
        left = await self._maker.call(_members_in, client, self._registry.owner)
        of_no_use = []
        for member in free:
            state, made_of = left.get(member.name, ("", ""))
            base_of = {made[base]: base for base in self._short() if base in made}
            if state == "paused" and made_of in base_of:
                self._ready.append(_Ready(member, base_of[made_of], made_of))
            else:
                of_no_use.append(member)
        # Last: starts can use the ready ones and need not wait for this.
        for member in of_no_use:
            await self._discard(client, member)
        # A container that the engine made only after its server was killed.
        for name in left.keys() - {member.name for member in [*free, *claimed]}:
            await self._maker.call(self._maker.unmake, client, name)


def _members_in(client: "DockerClient", owner: str) -> dict[str, tuple[str, str]]:
    """Returns the warm-pool containers (started in advance) that one app server has created and that no
    sandbox has taken yet. The result maps a container's name to its Docker state and to the hash of
    everything that determines the container, such as the image. `owner`: the id of the app server's home
    directory.
    """
    found = client.containers.list(all=True, filters={"label": f"{_OWNER_LABEL}={owner}"}, sparse=True)
    names = {str(container.attrs["Names"][0]).removeprefix("/"): container for container in found}
    return {
        name: (str(container.attrs["State"]), str(container.attrs["Labels"][_MADE_LABEL]))
        for name, container in names.items()
        if name.startswith(PREFIX)
    }


def _pooled(client: "DockerClient", label: str, owner: str) -> list[str]:
    """Returns the names of the containers that other app servers have started in advance for new sandboxes,
    and that no sandbox has taken yet. Only containers that run or are paused are returned.

    `label`: the Docker label of such containers of all app servers with the same database, as `name=value`.
    `owner`: the id of this app server's home directory. The containers of this app server are left out.
    """
    found = client.containers.list(filters={"label": label, "status": ["running", "paused"]}, sparse=True)
    theirs = [each for each in found if each.attrs["Labels"].get(_OWNER_LABEL) != owner]
    names = [str(each.attrs["Names"][0]).removeprefix("/") for each in theirs]
    return sorted(name for name in names if name.startswith(PREFIX))


def _rename(client: "DockerClient", name: str, to: str) -> "Container | None":
    container = containers.find(client, name)
    if container:
        container.rename(to)
    return container
