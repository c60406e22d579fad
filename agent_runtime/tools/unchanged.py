"""Checks whether a file is certainly unchanged since a given time."""

import os
import stat
from pathlib import Path

# File systems stamp changes by a clock that ticks every few milliseconds.
MARGIN_SECONDS = 0.1


def is_unchanged(path: Path, since: float, root: Path) -> bool:
    """Returns whether a file is certainly unchanged since a given time. A tool that reads the file would then
    give the same result again. `since`: the time in seconds since the epoch.

    Returns False for a file outside `root`, and for a path that contains a symbolic link. Also returns False
    if a directory in the path has changed, because another directory may have replaced it. Compares the times
    of inode changes, which no program can set back.
    """
    try:
        top = Path(os.path.realpath(root))
        real = top / path.relative_to(root)
        if Path(os.path.realpath(path)) != real or not stat.S_ISREG(os.lstat(real).st_mode):
            return False
        way = [real, *(parent for parent in real.parents if parent.is_relative_to(top))]
        return all(os.lstat(component).st_ctime < since - MARGIN_SECONDS for component in way)
    except (OSError, ValueError):
        return False
