"""Reads all files of a workspace from the disk: their bytes, whether they are executable, and targets of
links.
"""

import os
import subprocess
from pathlib import Path

Files = dict[str, tuple[str, bytes]]
"""The files by their paths. Each value is `file`, `exec` or `link`, and the content or the target of the
link.
"""


def files_of(directory: Path, *, without: tuple[str, ...] = (".git",)) -> Files:
    found: Files = {}
    for folder, directories, names in os.walk(directory):
        directories[:] = [name for name in directories if name not in without]
        for name in (*names, *directories):
            path = Path(folder, name)
            key = str(path.relative_to(directory))
            if path.is_symlink():
                found[key] = ("link", os.fsencode(path.readlink()))
            elif path.is_file():
                found[key] = ("exec" if os.access(path, os.X_OK) else "file", path.read_bytes())
    return found


def git(directory: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", *arguments],
        cwd=directory,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout
