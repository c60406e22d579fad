"""A workspace as it is on disk: every file's bytes, who may execute it, where links lead."""

import os
import subprocess
from pathlib import Path

Files = dict[str, tuple[str, bytes]]
"""By path: `file`, `exec` or `link`, and the content or where it leads."""


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
