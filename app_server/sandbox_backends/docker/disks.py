"""Workspaces with a size limit. Each workspace is a file system in a sparse file of this host, and the Docker
engine mounts this file system. The Docker engine has a size limit for volumes too, but this limit needs a
special file system that few hosts have.

To be mounted, a sparse file is attached to a loop device, such as /dev/loop3. After a restart of the host, it
may get another device. Therefore the Docker volume names a symbolic link instead of the device. Before a
workspace is mounted, the link is updated to the current device.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from app_server.sandbox_backends.docker import loop_devices as loops

_RESERVED_BYTES = 1024**2
_NEEDED_BYTES = 256 * 1024**2
_MOUNT_OPTIONS = "noatime,nodev,nosuid,discard"
_UNFINISHED = ".new-"


class Disks:
    """The workspace disks of one folder. A disk is a sparse file that contains a file system, and is
    identified by its name.

    All methods block the thread. They raise StartFailure `sandbox_disk_failed` if an operation fails.
    """

    def __init__(self, folder: Path) -> None:
        # The engine has another working directory.
        self._folder = folder.absolute()

    def holds(self, name: str) -> bool:
        return self._file(name).exists()

    def size_bytes(self, name: str) -> int:
        """Returns the size limit of the disk in bytes. The metadata of the file system takes a part of this
        size.
        """
        return self._file(name).stat().st_size

    def make(self, name: str, size_bytes: int, *, owner: int, directories: Sequence[str]) -> None:
        """Creates a workspace disk: a file system of `size_bytes` in a sparse file of this host. Creates the
        directories `directories` in the file system. They belong to the user id `owner`.

        The sparse file takes only as much space on this host as the disk's content needs.
        """
        self._remove_unfinished(name)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._require_disk_space()
            # A unique name: mkfs may outlive a server that is killed, and must not meet its successor's.
            with tempfile.TemporaryDirectory(prefix=f"{name}{_UNFINISHED}", dir=self._folder) as unfinished:
                disk, model = Path(unfinished, "disk"), Path(unfinished, "model")
                with disk.open("wb") as file:
                    file.truncate(size_bytes)
                model.mkdir()
                for directory in directories:
                    (model / directory).mkdir(mode=0o755)
                    os.chown(model / directory, owner, owner)
                # The last bytes are reserved for root: the engine writes the session key at each start.
                reserved_percent = f"{100 * _RESERVED_BYTES / size_bytes:.6f}"
                options = f"root_owner={owner}:{owner},lazy_itable_init=1"
                loops.run(
                    "mkfs.ext4", "-q", "-m", reserved_percent, "-E", options, "-d", str(model), str(disk)
                )
                disk.rename(self._file(name))
        except OSError as error:
            raise loops.failed(str(error)) from error

    def attach(self, name: str) -> Mapping[str, str]:
        """Attaches the disk to a loop device and returns the mount options for the workspace's Docker volume.

        If the disk is attached already, keeps this loop device. Raises StartFailure if the disk is in use
        through several loop devices.
        """
        device = self._only_device_of(name) or loops.run("losetup", "--find", "--show", str(self._file(name)))
        link = self._link(name)
        if not (link.is_symlink() and str(link.readlink()) == device):
            link.unlink(missing_ok=True)
            link.symlink_to(device)
        return {"type": "ext4", "device": str(link), "o": _MOUNT_OPTIONS}

    def detach(self, name: str) -> None:
        """Detaches the disk from its loop device. Call it after the Docker engine has unmounted the disk.

        Does nothing if the disk is not attached or does not exist.
        """
        if self.holds(name):
            for device in loops.devices_of(self._file(name)):
                loops.detach(device)

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Locks the file of the disk during the `with` block. The lock tells other processes that the disk is
        in use, so that they do not detach it (see `is_held`). The lock also ends when this process ends.
        """
        with self._file(name).open() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def detach_all(self, *, but: Collection[str]) -> None:
        """Detaches all workspace disks of this folder from their loop devices, except those in `but`.
        Includes disks whose file is deleted.

        but: the names of the disks that are in use.
        """
        for device, file in loops.all_below(self._folder):
            is_used = file.exists() and (file.stem in but or is_held(file))
            if not is_used:
                loops.detach(device)

    def remove(self, name: str) -> None:
        """Detaches the workspace disk from its loop device and deletes the disk with its content. Does
        nothing if there is no such disk.
        """
        self.detach(name)
        for path in (self._link(name), self._file(name)):
            path.unlink(missing_ok=True)
        self._remove_unfinished(name)

    def _remove_unfinished(self, name: str) -> None:
        for path in self._folder.glob(f"{name}{_UNFINISHED}*"):
            shutil.rmtree(path, ignore_errors=True)

    def _require_disk_space(self) -> None:
        """Raises StartFailure if this host has little free disk space. This check is needed because a sparse
        file can be created on a full host, and then the first writes of the sandbox fail.
        """
        free = shutil.disk_usage(self._folder).free
        if free < _NEEDED_BYTES:
            raise loops.failed(f"only {free / 1024**2:.0f} MiB are free at {self._folder}.")

    def _only_device_of(self, name: str) -> str | None:
        """Returns the loop device to which the disk is attached. Returns None if the disk is not attached.

        If the disk is attached to several devices, first detaches it from all that are not in use. Otherwise,
        the file system could be mounted through two devices, which destroys the file system. Raises
        StartFailure if several devices are in use.
        """
        file = self._file(name)
        if len(devices := loops.devices_of(file)) > 1:
            for device in devices:
                loops.detach(device)
            devices = loops.devices_of(file)
        if len(devices) > 1:
            raise loops.failed(f"{file} is in use through {' and '.join(devices)}.")
        return devices[0] if devices and loops.keep(devices[0], file) else None

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.ext4"

    def _link(self, name: str) -> Path:
        return self._folder / f"{name}.device"


def is_held(file: Path) -> bool:
    try:
        with file.open() as opened:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False
