"""Workspaces of a limited size: each a file system in a sparse file of this host, which the engine mounts.

The engine's own limits need a file system that few hosts have. Loop devices do not outlive a restart of the
host, so the engine is told of a link, which always leads to the device of the moment.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from app_server.errors import StartFailure

_TOOLS = ("losetup", "mkfs.ext4")
_LIMIT_SECONDS = 60.0
_KEPT_BYTES = 1024**2
_NEEDED_BYTES = 256 * 1024**2
_MOUNT_OPTIONS = "noatime,nodev,nosuid,discard"


def why_impossible() -> str | None:
    """What this host lacks for it, as a sentence; None if nothing."""
    if os.geteuid() != 0:
        return "Slipway is not root, and nobody else may attach disks."
    missing = [tool for tool in _TOOLS if _path_of(tool) is None]
    return f"{' and '.join(missing)} are not installed." if missing else None


class Disks:
    """In one folder, by name. All methods block, and raise StartFailure `sandbox_disk_failed`."""

    def __init__(self, folder: Path) -> None:
        # The engine looks for it from elsewhere.
        self._folder = folder.absolute()

    def holds(self, name: str) -> bool:
        return self._file(name).exists()

    def make(self, name: str, size_bytes: int, *, owner: int, directories: Sequence[str]) -> None:
        """One with these directories, all of it a user's. It takes up only what is written to it."""
        unfinished = self._unfinished(name)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._require_room()
            with unfinished.open("wb") as file:
                file.truncate(size_bytes)
            with tempfile.TemporaryDirectory(dir=self._folder) as model:
                for directory in directories:
                    Path(model, directory).mkdir(mode=0o755)
                    os.chown(Path(model, directory), owner, owner)
                # Only root may fill the last of it: the engine, which brings the session key at each start.
                kept = f"{100 * _KEPT_BYTES / size_bytes:.6f}"
                options = f"root_owner={owner}:{owner},lazy_itable_init=1"
                _run("mkfs.ext4", "-q", "-m", kept, "-E", options, "-d", model, str(unfinished))
            unfinished.rename(self._file(name))
        except OSError as error:
            raise _failed(str(error)) from error

    def attach(self, name: str) -> Mapping[str, str]:
        """What tells the engine's volumes where it is. Nothing happens to one that is attached."""
        device = self._device_of(name) or _run("losetup", "--find", "--show", str(self._file(name)))
        link = self._link(name)
        if not (link.is_symlink() and str(link.readlink()) == device):
            link.unlink(missing_ok=True)
            link.symlink_to(device)
        return {"type": "ext4", "device": str(link), "o": _MOUNT_OPTIONS}

    def detach(self, name: str) -> None:
        """Once the engine has let go of it. Nothing happens to one that is not attached, or not there."""
        if self.holds(name) and (device := self._device_of(name)):
            _run("losetup", "--detach", device)

    def remove(self, name: str) -> None:
        """With all that is on it; nothing happens when there is none."""
        self.detach(name)
        for path in (self._link(name), self._file(name), self._unfinished(name)):
            path.unlink(missing_ok=True)

    def _require_room(self) -> None:
        """The file is sparse: without this its sandbox would start, and find its first writes refused."""
        free = shutil.disk_usage(self._folder).free
        if free < _NEEDED_BYTES:
            raise _failed(f"only {free / 1024**2:.0f} MiB are free at {self._folder}.")

    def _device_of(self, name: str) -> str | None:
        found = _run("losetup", "--associated", str(self._file(name)), "--noheadings", "--output", "NAME")
        return found.split()[0] if found else None

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.ext4"

    def _unfinished(self, name: str) -> Path:
        return self._folder / f"{name}.new"

    def _link(self, name: str) -> Path:
        return self._folder / f"{name}.device"


def _path_of(tool: str) -> str | None:
    # Where many a PATH does not lead.
    return shutil.which(tool, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")


def _run(tool: str, *arguments: str) -> str:
    reason = why_impossible()
    if reason is not None:
        raise _failed(reason)
    try:
        done = subprocess.run(
            [str(_path_of(tool)), *arguments],
            capture_output=True,
            text=True,
            timeout=_LIMIT_SECONDS,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        raise _failed(f"{tool} failed: {error.stderr.strip()}") from error
    except subprocess.TimeoutExpired as error:
        raise _failed(f"{tool} did not end within {_LIMIT_SECONDS:g} seconds.") from error
    return done.stdout.strip()


def _failed(cause: str) -> StartFailure:
    return StartFailure(
        "sandbox_disk_failed",
        f"The disk of the sandbox cannot be had: {cause}",
        fix="Mend that, or set SLIPWAY_SANDBOX_DISK_BYTES=0: new workspaces have no limit then.",
    )
