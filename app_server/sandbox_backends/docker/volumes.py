"""Creates the Docker volumes that contain workspaces. Each volume is a separate disk of limited size if this
host and the Docker engine support this.

If they do not support this, the app server measures the size of workspaces (disk_quota.py). But if the
administrator has configured a size limit, disks are required, and no sandbox starts without a disk.
"""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from app_server.core.config import Config
from app_server.core.errors import StartFailure
from app_server.sandbox_backends.backend import WorkspaceCapacity
from app_server.sandbox_backends.docker import containers
from app_server.sandbox_backends.docker.disks import Disks, is_held
from app_server.sandbox_backends.docker.hardening import AGENT_UID
from app_server.sandbox_backends.docker.loop_devices import why_impossible
from app_server.sandbox_backends.docker.workspace import can_carry, remove_carrier
from app_server.sandbox_backends.workspace_tar import CONVERSATIONS, PROJECT

if TYPE_CHECKING:
    from docker import DockerClient

logger = logging.getLogger(__name__)

TRIAL_PREFIX = "slipway-trial-"
_TRIAL_BYTES = 16 * 1024**2
_STRAY_SECONDS = 600.0


class Volumes:
    """The Docker volumes that contain workspaces. If this host supports separate disks, each volume is a
    separate disk: a file system of limited size in a file of this host.

    All methods block the thread. They raise the errors of the Docker engine or StartFailure
    `sandbox_disk_failed`.
    """

    def __init__(self, config: Config) -> None:
        self._folder = config.home / "disks"
        self._disks = Disks(self._folder)
        self._size = config.sandbox_disk_bytes
        # A configured limit must be enforced, or the start is refused.
        self._is_demanded = self._size is not None and "sandbox_disk_bytes" in config.model_fields_set
        self._turn = threading.Lock()
        self._is_tried = False
        self._gap: str | None = None

    @property
    def limit(self) -> WorkspaceCapacity:
        """The size limit of new workspaces and how the limit is enforced. `try_out` tests whether workspaces
        can be separate disks. Before this test, the property assumes that they can be, unless something is
        missing on this host.
        """
        if self._size is None:
            return WorkspaceCapacity(None, "none")
        reason = None if self._is_demanded else self._gap if self._is_tried else why_impossible()
        return WorkspaceCapacity(self._size, "watch" if reason else "disk", reason)

    def ready(self, client: "DockerClient", name: str, image: str) -> None:
        """Prepares the Docker volume of this name before a container mounts the volume. If workspaces are
        separate disks, creates a missing volume with its disk, or attaches the disk of an existing volume.
        Otherwise does nothing, because the Docker engine creates the volume when a container mounts it.
        `image`: any image that the Docker engine has; it may be needed to test whether disks work.
        """
        if not self._disks.holds(name):
            if (
                self._size is None
                or containers.has_volume(client, name)
                or not self._is_possible(client, image)
            ):
                return
            self._disks.make(name, self._size, owner=AGENT_UID, directories=[PROJECT, CONVERSATIONS])
        options = self._disks.attach(name)
        if not containers.has_volume(client, name):
            client.volumes.create(name, driver="local", driver_opts=dict(options))

    def try_out(self, client: "DockerClient", image: str) -> None:
        """Tests whether this host and the Docker engine support workspaces that are separate disks of limited
        size. Does nothing if this is known already, or if there is no size limit. `image`: any image that the
        Docker engine has; the test needs it.
        """
        if self._size is not None:
            self._is_possible(client, image)

    def is_on_disk(self, name: str) -> bool:
        return self._disks.holds(name)

    @contextmanager
    def filling(self, name: str) -> Iterator[None]:
        """A context manager for a block that writes data into the volume. If the Docker engine reports in the
        block that the volume's disk is full, raises StartFailure `sandbox_workspace_full` in place of the
        engine's error. All other errors are not changed.
        """
        from docker.errors import APIError  # as below

        try:
            yield
        except APIError as error:
            # If this host's own disk is full, the error has another text.
            if not self.is_on_disk(name) or "no space left on device" not in str(error).lower():
                raise
            size = f"{self._disks.size_bytes(name) / 1024**2:.0f} MiB"
            raise StartFailure(
                "sandbox_workspace_full",
                f"The files do not fit on the disk of a sandbox, which is of {size} now.",
                fix="Have SLIPWAY_SANDBOX_DISK_BYTES raised, then retry. Nothing is lost until then.",
            ) from error

    def detach(self, name: str) -> None:
        """Detaches the workspace disk of the volume (a file of this host that contains a file system) from
        its loop device. Call it after the Docker engine has unmounted the disk.
        """
        self._disks.detach(name)

    def detach_unused(self, client: "DockerClient") -> None:
        """Detaches each workspace disk (a file with a file system) from its loop device if no container uses
        the disk. A killed app server or Docker engine may have left such disks attached. Call this method
        before sandboxes start.
        """
        if why_impossible() is None and self._folder.exists():
            self._disks.detach_all(but=containers.volumes_in_use(client))

    def remove_disk(self, name: str) -> None:
        """Deletes the workspace disk of the volume (a file of this host that contains a file system). Call it
        after the volume was removed from the Docker engine.
        """
        self._disks.remove(name)

    def _is_possible(self, client: "DockerClient", image: str) -> bool:
        if self._is_demanded:
            return True
        with self._turn:
            if not self._is_tried:
                self._gap = self._try(client, image)
                self._is_tried = True
                if self._gap:
                    logger.warning("workspaces are watched, not limited", extra={"cause": self._gap})
        return self._gap is None

    def _try(self, client: "DockerClient", image: str) -> str | None:
        """Tests whether the Docker engine can mount a small test disk of this host. The mount fails, for
        example, if the engine runs on another machine or in a virtual machine.

        Returns the reason why the mount fails. Returns None if the mount works.
        """
        from docker.errors import APIError  # 0.3 s, see docker_engine/connection.py

        if reason := why_impossible():
            return reason
        self._remove_strays(client)
        name = f"{TRIAL_PREFIX}{uuid4().hex}"
        try:
            self._disks.make(name, _TRIAL_BYTES, owner=AGENT_UID, directories=[])
            with self._disks.held(name):
                client.volumes.create(name, driver="local", driver_opts=dict(self._disks.attach(name)))
                can_carry(client, image, name, containers.WORKSPACE)
        except StartFailure as failure:
            return failure.cause
        except APIError as error:
            return f"The engine cannot mount a disk of this host: {error.explanation or error}"
        finally:
            self._remove_trial(client, name)
        return None

    def _remove_strays(self, client: "DockerClient") -> None:
        """Removes test disks (files with a small file system, made to test mounting) that killed app servers
        have left behind.
        """
        for path in self._folder.glob(f"{TRIAL_PREFIX}*"):
            if path.suffix != ".device" and _is_stray(path):
                self._remove_trial(client, path.name.partition(".")[0])

    def _remove_trial(self, client: "DockerClient", name: str) -> None:
        try:
            remove_carrier(client, name)
            containers.delete(client, name, name)
        finally:
            # An engine that does not run does not use the disk.
            self._disks.remove(name)


def _is_stray(path: Path) -> bool:
    """Returns whether the test disk at this path is left over from a killed process. A process locks the file
    of its test disk during the test, so a file without a lock is left over.

    While a test disk is being created, `path` is a directory without a lock. A directory is left over if it
    is older than _STRAY_SECONDS.
    """
    if path.is_dir():
        return time.time() - path.stat().st_mtime > _STRAY_SECONDS
    return not is_held(path)
