"""Attaches and detaches loop devices of this host, which make the file of a workspace disk mountable. All
functions block the thread.

The kernel detaches a loop device only when no program uses the device any more. After that, the device's
number may belong to another file.
"""

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from app_server.core.errors import StartFailure

_TOOLS = ("losetup", "mkfs.ext4")
_LIMIT_SECONDS = 60.0
# linux/loop.h: struct loop_info64, and what is asked for with it.
_GET_STATUS, _SET_STATUS = 0x4C05, 0x4C04
_INFO_BYTES, _INODE, _FLAGS = 232, slice(8, 16), slice(52, 56)
_GOES_WHEN_UNUSED = 4


def why_impossible() -> str | None:
    """Returns a sentence that says what is missing on this host for workspace disks, such as a program.
    Returns None if nothing is missing.
    """
    if os.geteuid() != 0:
        return "Slipway is not root, and only root may attach disks."
    missing = [tool for tool in _TOOLS if _path_of(tool) is None]
    return f"{' and '.join(missing)} are not installed." if missing else None


def devices_of(file: Path) -> list[str]:
    """Returns the loop devices to which this file is attached. Ignores devices of deleted files that had the
    same path.
    """
    found = run("losetup", "--associated", str(file), "--noheadings", "--output", "NAME")
    return found.split()


def all_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yields all loop devices that are attached to files directly in the folder. Yields each device together
    with the path of its file.

    If a file was deleted while a device was attached to it, the kernel adds ` (deleted)` to the file's path.
    The yielded path then has this addition, so no file exists at this path.
    """
    listing = run("losetup", "--list", "--json", "--output", "NAME,BACK-FILE")
    for each in json.loads(listing)["loopdevices"] if listing else []:
        file = Path(each["back-file"] or "")
        if file.parent == folder:
            yield each["name"], file


def keep(device: str, file: Path) -> bool:
    """Makes sure that the loop device stays attached to its file. If `detach` was called while a program used
    the device, the kernel detaches the device when it is no longer used. This function cancels this later
    detachment.

    Returns False if the device is not attached to this file any more, otherwise True. Raises StartFailure
    `sandbox_disk_failed` if the state of the device cannot be read or changed.
    """
    try:
        with Path(device).open("rb") as opened:
            info = bytearray(_INFO_BYTES)
            fcntl.ioctl(opened, _GET_STATUS, info)
            if int.from_bytes(info[_INODE], sys.byteorder) != file.stat().st_ino:
                return False
            flags = int.from_bytes(info[_FLAGS], sys.byteorder)
            if flags & _GOES_WHEN_UNUSED:
                info[_FLAGS] = (flags & ~_GOES_WHEN_UNUSED).to_bytes(4, sys.byteorder)
                fcntl.ioctl(opened, _SET_STATUS, info)
    except OSError as error:
        if error.errno == errno.ENXIO:  # attached to nothing
            return False
        raise failed(f"{device}: {error.strerror}") from error
    return True


def detach(device: str) -> None:
    """Detaches the loop device from its file: at once, or as soon as no program uses the device. Does nothing
    if another process has detached the device already.
    """
    try:
        run("losetup", "--detach", device)
    except StartFailure:
        if _is_attached(device):
            raise


def _is_attached(device: str) -> bool:
    try:
        with Path(device).open("rb") as opened:
            fcntl.ioctl(opened, _GET_STATUS, bytearray(_INFO_BYTES))
    except OSError as error:
        if error.errno in {errno.ENXIO, errno.ENOENT}:
            return False
        raise failed(f"{device}: {error.strerror}") from error
    return True


def run(tool: str, *arguments: str) -> str:
    reason = why_impossible()
    if reason is not None:
        raise failed(reason)
    try:
        done = subprocess.run(
            [str(_path_of(tool)), *arguments],
            capture_output=True,
            text=True,
            timeout=_LIMIT_SECONDS,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        raise failed(f"{tool} failed: {error.stderr.strip()}") from error
    except subprocess.TimeoutExpired as error:
        raise failed(f"{tool} did not end within {_LIMIT_SECONDS:g} seconds.") from error
    return done.stdout.strip()


def failed(cause: str) -> StartFailure:
    return StartFailure(
        "sandbox_disk_failed",
        f"The disk of the sandbox cannot be attached: {cause}",
        fix="Fix that, or set SLIPWAY_SANDBOX_DISK_BYTES=0: new workspaces have no limit then.",
    )


def _path_of(tool: str) -> str | None:
    # The directories of these tools are missing in many PATHs.
    return shutil.which(tool, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
