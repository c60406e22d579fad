"""Lists or removes the sandbox images in each container engine. There is one engine on this machine, or one
on each sandbox host.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app_server.cli.sandbox_inventory import chosen_bases
from app_server.core.config import Config
from app_server.core.errors import StartFailure
from app_server.core.sandbox_hosts import SandboxHost
from app_server.sandbox_backends.remote.terminal_hosts import open_host
from app_server.sandbox_images.definition import current_images
from app_server.sandbox_images.image_store import StoredImage, ask_engine, prune_images, stored_images


@dataclass(frozen=True)
class ImageLocation:
    """The sandbox images of one container engine, as `image_locations` returns them.

    `images`: the images that the engine stores; after a call with `prune`, the images that were removed
    instead. `host`: the name of the sandbox host on which the engine runs; None for this machine. `failure`:
    why the sandbox host did not reply; None if it has replied.
    """

    images: Sequence[StoredImage]
    host: str | None = None
    failure: StartFailure | None = None

    @property
    def where(self) -> str:
        """Returns the name of the sandbox host after two spaces, or an empty text for this machine. The
        commands print this text at the end of each line about an image.
        """
        return f"  {self.host}" if self.host else ""


async def image_locations(config: Config, *, prune: bool) -> list[ImageLocation]:
    """Returns the sandbox images of each container engine: the engine of this machine, or the engines of the
    configured sandbox hosts. If `prune` is true, removes unused images and returns the removed images.

    Raises StartFailure if this machine's engine does not answer. Raises Unavailable if the database with the
    base images that users and their sandboxes need cannot be read.
    """
    chosen = await chosen_bases(config)
    if config.sandbox == "remote":
        hosts = (_of_host(host_config, config, chosen, prune=prune) for host_config in config.sandbox_hosts)
        return list(await asyncio.gather(*hosts))
    current = await asyncio.to_thread(current_images, config, chosen)
    return [
        ImageLocation(await asyncio.to_thread(ask_engine, prune_images if prune else stored_images, current))
    ]


async def _of_host(
    host_config: SandboxHost, config: Config, chosen: Collection[str], *, prune: bool
) -> ImageLocation:
    try:
        async with open_host(host_config, config) as host:
            return ImageLocation(await host.images(chosen, prune=prune), host_config.name)
    except StartFailure as failure:
        return ImageLocation([], host_config.name, failure)
