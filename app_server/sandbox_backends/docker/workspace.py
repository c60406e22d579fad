"""The workspaces of containers, carried out of their volumes and into them; called by backend.py.

Through a container that never runs: the engine reads and writes for it, with its own file system as the
whole world, so that no link in a workspace leads to anything of this host.
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
    place: str,
    parts: Sequence[str],
    sink: TarSink,
    folder: str | None = None,
) -> None:
    """Writes the parts of a volume that are there. `place`: where the image expects the volume.

    folder: see workspace_tar.clean.
    """
    from docker.errors import NotFound

    with _carrier(client, image, volume, place) as carrier, writing(sink) as tar:
        for part in parts:
            try:
                pieces, _ = carrier.get_archive(f"{place}/{part}", chunk_size=_PIECE_BYTES)
            except NotFound:
                continue
            clean(ChunkReader(iter(pieces)), part, tar, owner=AGENT_UID, folder=folder)


def carry_in(client: "DockerClient", image: str, volume: str, place: str, source: TarSource) -> None:
    """Fills a volume, which is made if need be."""
    with _carrier(client, image, volume, place) as carrier:
        # Into the root: the engine takes links that lead out of the directory it unpacks to for an attack.
        carrier.put_archive("/", below(source, place.strip("/")))


def can_carry(client: "DockerClient", image: str, volume: str, place: str) -> None:
    """Has the engine mount it, once. Raises APIError when it cannot."""
    with _carrier(client, image, volume, place) as carrier:
        pieces, _ = carrier.get_archive(place)
        for _piece in pieces:
            pass


def remove_carrier(client: "DockerClient", volume: str) -> None:
    """One that a killed server left; it would hold the volume."""
    from docker.errors import NotFound

    try:
        remove(client.containers.get(_name(volume)))
    except NotFound:
        return


@contextmanager
def _carrier(client: "DockerClient", image: str, volume: str, place: str) -> "Iterator[Container]":
    remove_carrier(client, volume)
    carrier = client.containers.create(
        image,
        name=_name(volume),
        network_mode="none",
        cap_drop=["ALL"],
        volumes={volume: {"bind": place, "mode": "rw"}},
    )
    try:
        yield carrier
    finally:
        carrier.remove(force=True)


def _name(volume: str) -> str:
    return f"slipway-carrier-{volume}"
