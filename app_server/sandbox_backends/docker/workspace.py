"""Copies workspaces out of the Docker volumes of sandboxes and into such volumes.

For each copy, a helper container is created that mounts the volume but is never started. The Docker engine
reads and writes within this container's file system, so symbolic links in a workspace cannot lead to files of
the host.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from app_server.sandbox_backends.docker.containers import remove
from app_server.sandbox_backends.docker.hardening import AGENT_UID
from app_server.sandbox_backends.workspace_tar import ChunkReader, TarSink, TarSource, below, clean, writing

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

_PIECE_BYTES = 1024**2


def carry_out(
    client: "DockerClient",
    image: str,
    volume: str,
    mount_point: str,
    parts: Sequence[str],
    sink: TarSink,
    folder: str | None = None,
) -> None:
    """Writes the given parts (top directories) of a sandbox's workspace to `sink` as a tar. The workspace is
    in the Docker volume `volume`. Skips parts that do not exist.

    `image`: the image of the helper container. `mount_point`: the directory where this container mounts the
    volume. `folder`: a directory in each part; if given, only its content is copied, and the paths in the tar
    do not contain its name. For the folder `src`, `project/src/a.py` becomes `project/a.py`.
    """
    from docker.errors import NotFound

    with _carrier(client, image, volume, mount_point) as carrier, writing(sink) as tar:
        for part in parts:
            try:
                pieces, _ = carrier.get_archive(f"{mount_point}/{part}", chunk_size=_PIECE_BYTES)
            except NotFound:
                continue
            clean(ChunkReader(iter(pieces)), part, tar, owner=AGENT_UID, folder=folder)


def carry_in(client: "DockerClient", image: str, volume: str, mount_point: str, source: TarSource) -> None:
    """Unpacks the tar `source` into a Docker volume. Creates the volume if it does not exist.

    `image`: the image of the helper container. `mount_point`: the directory where this container mounts the
    volume.
    """
    with _carrier(client, image, volume, mount_point) as carrier:
        # Into the root: the engine refuses links that lead out of the directory to which it unpacks.
        carrier.put_archive("/", below(source, mount_point.strip("/")))


def can_carry(client: "DockerClient", image: str, volume: str, mount_point: str) -> None:
    """Checks that the Docker engine can mount the volume in a container and read its files. Raises APIError
    if it cannot, and returns nothing if it can.

    `image`: the image of the test container. `mount_point`: the directory where this container mounts the
    volume.
    """
    with _carrier(client, image, volume, mount_point) as carrier:
        pieces, _ = carrier.get_archive(mount_point)
        for _piece in pieces:
            pass


def remove_carrier(client: "DockerClient", volume: str) -> None:
    """Removes the helper container of an app server that was killed while it copied this volume. The volume
    cannot be removed while this container exists.
    """
    from docker.errors import NotFound

    try:
        remove(client.containers.get(_name(volume)))
    except NotFound:
        return


@contextmanager
def _carrier(client: "DockerClient", image: str, volume: str, mount_point: str) -> "Iterator[Container]":
    remove_carrier(client, volume)
    carrier = client.containers.create(
        image,
        name=_name(volume),
        network_mode="none",
        cap_drop=["ALL"],
        volumes={volume: {"bind": mount_point, "mode": "rw"}},
    )
    try:
        yield carrier
    finally:
        carrier.remove(force=True)


def _name(volume: str) -> str:
    return f"slipway-carrier-{volume}"
