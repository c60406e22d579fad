"""Lists the files of a home directory (the server's data directory) that belong in a backup."""

import stat
from collections.abc import Collection, Iterator
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
    }
)


UNFINISHED_COPY = ".backup-"
"""The beginning of the names of temporary folders in the home (the server's data directory). A backup copies
the database into such a folder. Such a folder remains if the program that writes the backup is killed.
Backups do not include these folders.
"""


def files_of(home: Path, left_out: Collection[Path], unreadable: list[Path]) -> Iterator[Path]:
    """Yields the paths of the folders, regular files and symbolic links below `home` that belong in a backup,
    parents first. Links are not followed. Leaves out sockets, pipes, devices, caches and temporary data of
    the server, and files that are deleted while this function runs.

    `left_out`: further paths to leave out. `unreadable`: a list to which the function adds the folders that
    cannot be read.
    """
    for path in sorted(home.iterdir()):
        if path.name not in _LEFT_OUT and not path.name.startswith(UNFINISHED_COPY):
            yield from _below(path, left_out, unreadable)


def _below(path: Path, left_out: Collection[Path], unreadable: list[Path]) -> Iterator[Path]:
    if path in left_out:
        return
    inside: list[Path] = []
    try:
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            inside = sorted(path.iterdir())
    except FileNotFoundError:
        return
    except PermissionError:
        unreadable.append(path)
        return
    if stat.S_ISDIR(mode) or stat.S_ISREG(mode) or stat.S_ISLNK(mode):
        yield path
    for child in inside:
        yield from _below(child, left_out, unreadable)
