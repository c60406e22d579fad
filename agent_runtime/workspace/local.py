"""Checks which paths of this machine a client of the agent server may use, and replaces files atomically."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


class PathNotAllowedError(Exception):
    """The error that is raised when a path is relative, not valid, or outside the directories that a client
    may use.
    """


def confine(given: str, roots: Iterable[Path]) -> Path:
    """Returns the real path of `given`, with links resolved. `roots`: the directories that a client may use.
    Raises PathNotAllowedError if the path is not absolute, cannot be resolved, or is in none of the
    directories in `roots`.
    """
    if not os.path.isabs(given) or "\0" in given:  # noqa: PTH117 (a Path would hide an empty one)
        raise PathNotAllowedError("The path must be absolute.")
    allowed = [root.resolve() for root in roots]
    try:
        path = Path(given).resolve()
    except (OSError, RuntimeError, UnicodeEncodeError) as error:  # links in a circle, names no file can have
        raise PathNotAllowedError("The path cannot be resolved.") from error
    if not any(path.is_relative_to(root) for root in allowed):
        allowed_roots = ", ".join(str(root) for root in dict.fromkeys(allowed))
        raise PathNotAllowedError(f"The path lies outside the places that may be reached: {allowed_roots}.")
    return path


def is_directory(path: Path) -> bool:
    """Returns whether the path is a directory. Returns False if the path is not valid, such as a path that is
    too long or contains a NUL character.
    """
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Yields a temporary file for the `with` block. At the end of the block, the temporary file replaces
    `path` in one step. If the block fails, the temporary file is removed.

    Creates missing parent directories. If `path` exists, its file mode does not change. If `path` is a link,
    the target of the link is replaced and the link stays.
    """
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".slipway-")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            os.fchmod(file.fileno(), target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    # The system call that returns the umask also sets it, which could disturb other threads. On Linux, a file
    # shows it.
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else ():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o022
