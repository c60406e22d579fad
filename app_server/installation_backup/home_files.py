"""Lists the files of a home that belong in a backup."""

import stat
from collections.abc import Iterator
from pathlib import Path

_LEFT_OUT = frozenset(
    {
        "clones",  # repositories on their way into a sandbox
        "disks",  # of containers, mounted while they run
        "package-cache",
        "pool",  # machines that are ready on this engine
        "server.json",
        "server.lock",
        "start-worker",  # which process works on starts
        "slipway.sqlite3",  # the database is copied by its own means
        "slipway.sqlite3-shm",
        "slipway.sqlite3-wal",
    }
)


def files_of(home: Path) -> Iterator[Path]:
    """Yields the folders, regular files and symbolic links below `home`, parents first. Links are not
    followed.

    Sockets, pipes and devices are left out, and so are files that disappear meanwhile.
    """
    for path in sorted(home.iterdir()):
        if path.name not in _LEFT_OUT:
            yield from _below(path)


def _below(path: Path) -> Iterator[Path]:
    try:
        mode = path.lstat().st_mode
        inside = sorted(path.iterdir()) if stat.S_ISDIR(mode) else []
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode) or stat.S_ISREG(mode) or stat.S_ISLNK(mode):
        yield path
    for child in inside:
        yield from _below(child)
