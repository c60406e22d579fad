"""The services that a sandbox host (a machine that runs sandboxes for an app server) needs while it runs: the
container engine, the relay for the network connections of its sandboxes, and the background tasks.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Collection
from typing import Annotated
from uuid import UUID

from app_server.core.background import Background
from app_server.core.config import Config
from app_server.core.errors import StartFailure
from app_server.core.server_objects import from_server
from app_server.http.sandbox_authority import certificate_file, read_authority
from app_server.sandbox_backends.backend import MachineState
from app_server.sandbox_backends.docker.backend import DockerBackend
from app_server.sandbox_backends.remote.host_inventory import HostInventory
from app_server.sandbox_host.egress_relay import EgressRelay
from app_server.sandbox_images.definition import current_images, image_name
from app_server.sandbox_images.image_store import AskStore, StoredImage, ask_engine

logger = logging.getLogger(__name__)


class HostServices:
    def __init__(self, config: Config) -> None:
        self.config = config
        self.backend = DockerBackend(config)
        self.inventory = HostInventory(config.home)
        self.egress_relay = EgressRelay()
        self.background = Background()
        self.locks: defaultdict[UUID, asyncio.Lock] = defaultdict(asyncio.Lock)

    def believe(self, authority: str) -> None:
        """Stores the app server's certificate authority in a file, so that sandboxes that are created from
        now on trust this authority. `authority`: the certificate of the authority as PEM text. Blocks the
        thread.
        """
        path = certificate_file(self.config)
        if read_authority(self.config) != authority:
            unfinished = path.with_suffix(".new")
            unfinished.write_text(authority)
            unfinished.replace(path)

    async def image(self, base: str | None = None) -> str | None:
        """Returns the name of the sandbox image that is built on the base image `base`. None as `base` means
        the default base image. Returns None if this host does not have the sandbox image.
        """
        name = await asyncio.to_thread(image_name, self.config, base)
        return name if await self.backend.has_image(name) else None

    async def images(self, ask_store: AskStore, bases: Collection[str]) -> list[StoredImage]:
        """Lists the sandbox images in this host's Docker engine, or removes those that are not needed.
        Returns the listed or the removed images.

        `ask_store`: the function `stored_images` to list the images, or `prune_images` to remove images.
        `bases`: the names of base images that users have chosen. The images that this version of Slipway
        builds on these base images are needed. The same is true for the base images of this host's sandboxes
        and for the default base image.
        """
        chosen = {*bases, *await asyncio.to_thread(self.inventory.bases)}
        current = await asyncio.to_thread(current_images, self.config, chosen)
        return await asyncio.to_thread(ask_engine, ask_store, current)

    async def ready_to_carry(self) -> None:
        """Builds a sandbox image if this host has none. The image is needed for the helper container with
        which the host copies a workspace. Any sandbox image can be used for the helper container.
        """
        if not (self.backend.image and await self.backend.has_image(self.backend.image)):
            await self.backend.prepare(lambda _line: None)

    async def capacity_bytes(self) -> int:
        return sum(await self.backend.capacities()) - self.backend.spare_bytes

    async def states(self) -> dict[UUID, MachineState]:
        """Returns the state of the container of each sandbox on this host, by the sandbox's id. The state is
        `stopped` if the sandbox has no container.
        """
        found, ours = await self.backend.states(), await asyncio.to_thread(self.inventory.all)
        return {each: found.get(each, "stopped") for each in ours}

    async def tend(self) -> None:
        """Runs one round of the host's background task. Sets missing rules of the packet filter. Starts one
        container in advance for new sandboxes, if there are fewer such containers than configured and there
        is enough memory. Logs a failure of the container engine.

        The first round after the sandbox image was built also tests whether workspaces can be separate disks
        and whether sandboxes can reach this host.
        """
        try:
            await self.backend.keep_secure()
            await self.backend.examine()
            if self.backend.lacks_spare and await self._has_free_memory():
                await self.backend.replenish()
        except StartFailure as failure:
            logger.warning("the engine does not do its part", extra={"cause": failure.cause})

    async def _has_free_memory(self) -> bool:
        up = [state for state in (await self.states()).values() if state != "stopped"]
        return (len(up) + 1) * self.config.sandbox_memory_bytes <= await self.capacity_bytes()


ServerWork = Annotated[HostServices, from_server("work")]
