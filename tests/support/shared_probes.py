"""Lets each process test Docker's abilities only once, instead of at each start of an app server.

At its start, an app server with Docker makes a disk for a container, and a container that tries to reach this
machine. That takes seconds of processor time and always has the same result. A good result is remembered
here, and in app servers that are forked from this process.

with real_probes():                 # each app server makes the probes again
    ...
"""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app_server.sandbox_backends.docker import backend, host_protection, host_reachability, volumes

if TYPE_CHECKING:
    from docker import DockerClient

_is_reachable = host_reachability.is_host_reachable


class _Known:
    """The good results of Docker tests so far. `folder`: the folder with one empty file for each result; None
    if results are not shared.
    """

    folder: Path | None = None

    def holds(self, name: str) -> bool:
        return self.folder is not None and (self.folder / name).exists()

    def note(self, name: str) -> None:
        if self.folder is not None:
            (self.folder / name).touch()


_known = _Known()


def share_probes() -> None:
    """Makes all app servers of this process, and of processes forked from it, share the results of the
    probes. A probe is a test of what the Docker engine can do.
    """
    _known.folder = Path(tempfile.mkdtemp(prefix="slipway-probes-"))
    atexit.register(_remove, os.getpid(), _known.folder)
    backend.Volumes = _Volumes  # type: ignore[misc]
    host_protection.is_host_reachable = _is_host_reachable


@contextmanager
def real_probes() -> Iterator[None]:
    """Turns off the sharing of test results inside the `with` block, so that each app server of this process
    tests Docker's abilities again.
    """
    folder, _known.folder = _known.folder, None
    try:
        yield
    finally:
        _known.folder = folder


class _Volumes(volumes.Volumes):
    def _try(self, client: "DockerClient", image: str) -> str | None:
        if _known.holds("disks"):
            return None
        reason = super()._try(client, image)
        if reason is None:
            _known.note("disks")
        return reason


def _is_host_reachable(
    client: "DockerClient", image: str, options: dict[str, Any], gateway: str, owner: str = ""
) -> bool:
    if _known.holds("walled"):
        return False
    is_reachable = _is_reachable(client, image, options, gateway, owner)
    if not is_reachable:
        _known.note("walled")
    return is_reachable


def _remove(owner: int, folder: Path) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
