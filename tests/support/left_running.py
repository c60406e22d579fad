"""Finds what a cancelled program may leave behind: open pipes of this process, and running programs."""

import os
import time
from pathlib import Path

from tests.support.patience import PATIENCE_SECONDS


def open_pipes() -> set[str]:
    """Returns the pipes that this process has open."""
    found = set()
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208 (names are wanted)
        try:
            target = os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115
        except FileNotFoundError:
            continue  # the descriptor of this directory listing
        if target.startswith("pipe:"):
            found.add(target)
    return found


def programs_in(folder: Path) -> list[int]:
    """Returns the ids of the processes whose working directory is this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == folder:
                found.append(int(process.name))
        except OSError:
            continue  # ended meanwhile
    return found


def stand_still_until_exists(path: Path) -> None:
    """Blocks this thread, and an event loop that runs in it, until the path exists."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} is not made"
        time.sleep(0.005)
