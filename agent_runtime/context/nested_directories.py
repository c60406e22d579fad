"""Finds directories below the workspace that may contain instruction files, such as AGENTS.md. At most a
fixed number of directories is returned.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from agent_runtime.workspace.front_matter import is_utf8

MAX_DEPTH = 4
MAX_DIRECTORIES = 500
_NOT_WALKED = {"node_modules", "vendor", "third_party", "dist", "build", "target", "venv", "__pycache__"}


def directories_below(top: Path) -> Iterator[Path]:
    """Yields the directories below `top`, those nearest to `top` first: at most MAX_DIRECTORIES directories,
    and at most MAX_DEPTH levels below `top`. Skips hidden and generated directories.
    """
    level: Iterable[Path] = [top]
    seen = 0
    for _ in range(MAX_DEPTH):
        following = [child for directory in level for child in _children(directory)]
        for child in following:
            seen += 1
            if seen > MAX_DIRECTORIES:
                return
            yield child
        level = following


def _children(directory: Path) -> list[Path]:
    try:
        with os.scandir(directory) as entries:
            names = [e.name for e in entries if e.is_dir(follow_symlinks=False) and _is_walked(e.name)]
    except OSError:  # a directory that cannot be read has nothing to load
        return []
    return [directory / name for name in sorted(names)]


def _is_walked(name: str) -> bool:
    return not name.startswith(".") and name not in _NOT_WALKED and is_utf8(name)
