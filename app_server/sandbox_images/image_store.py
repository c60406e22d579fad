"""Lists the images of Slipway in the container engine, shows which of them are still needed, and removes
images that are not needed.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from app_server.docker_engine.connection import ask, connect
from app_server.sandbox_images.definition import BASE_REPOSITORY, REPOSITORY

if TYPE_CHECKING:
    from docker import DockerClient


REPOSITORIES = (REPOSITORY, BASE_REPOSITORY)


@dataclass(frozen=True)
class StoredImage:
    """An image of Slipway that is stored in the container engine. `bytes`: the size, including layers that
    are shared with other images. `is_current`: whether this version of Slipway needs the image. `is_used`:
    whether the engine has a container of this image, running or not.
    """

    name: str
    created_at: str
    bytes: int
    is_current: bool
    is_used: bool

    @property
    def is_left_over(self) -> bool:
        return not (self.is_current or self.is_used)


AskStore = Callable[["DockerClient", Collection[str]], list[StoredImage]]


def ask_engine(ask_store: AskStore, current: Collection[str]) -> list[StoredImage]:
    """Connects to this machine's container engine, calls `ask_store` with the connection, and returns the
    list of images that `ask_store` returns.

    `ask_store`: the function `stored_images` or the function `prune_images`. `current`: the names of the
    images that this version of Slipway needs. Blocks the thread. Raises StartFailure if the engine does not
    answer.
    """
    with closing(connect()) as client:
        return ask(ask_store, client, current)


def stored_images(
    client: "DockerClient", current: Collection[str], repositories: Sequence[str] = REPOSITORIES
) -> list[StoredImage]:
    """Returns all images of Slipway in the container engine, newest first. `current`: the names of the images
    that this version of Slipway needs. `repositories`: only images with one of these repository names (the
    name before the colon) are returned. Raises the errors of the Docker library.
    """
    used = {container.attrs["ImageID"] for container in client.containers.list(all=True, sparse=True)}
    found = [
        StoredImage(
            name=tag,
            created_at=datetime.fromtimestamp(image["Created"], UTC).isoformat(),
            bytes=int(image["Size"]),
            is_current=tag in current,
            is_used=image["Id"] in used,
        )
        for repository in repositories
        # One request only: a second request would fail for an image that is removed in between.
        for image in client.api.images(name=repository)
        # An image may have more names, which other programs gave it.
        for tag in image["RepoTags"] or []
        if tag.startswith(f"{repository}:")
    ]
    return sorted(found, key=lambda image: image.created_at, reverse=True)


def prune_images(
    client: "DockerClient", current: Collection[str], repositories: Sequence[str] = REPOSITORIES
) -> list[StoredImage]:
    """Removes the images of Slipway that this version does not need and that no container uses. Returns the
    removed images. `current`: the names of the images that this version needs. `repositories`: only images
    with one of these repository names (the name before the colon) are removed.
    """
    from docker.errors import APIError  # 0.3 s, see docker_engine/connection.py

    removed = []
    for image in stored_images(client, current, repositories):
        if not image.is_left_over:
            continue
        try:
            client.images.remove(image.name)
        except APIError as error:
            if error.status_code not in {404, 409}:
                raise
            continue  # another server was faster, or just made a container of it
        removed.append(image)
    return removed
