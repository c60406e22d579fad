"""Paths on this machine, and which of them a client may name."""

import os
from collections.abc import Iterable
from pathlib import Path


class PathNotAllowedError(Exception):
    """A path that is relative, impossible, or outside the roots a client may reach."""


def confine(given: str, roots: Iterable[Path]) -> Path:
    """The real path behind `given`, links followed; PathNotAllowedError unless it lies below a root."""
    if not os.path.isabs(given) or "\0" in given:  # noqa: PTH117 (a Path would hide an empty one)
        raise PathNotAllowedError("The path must be absolute.")
    allowed = [root.resolve() for root in roots]
    try:
        path = Path(given).resolve()
    except (OSError, RuntimeError, UnicodeEncodeError) as error:  # links in a circle, names no file can have
        raise PathNotAllowedError("The path cannot be resolved.") from error
    if not any(path.is_relative_to(root) for root in allowed):
        places = ", ".join(str(root) for root in dict.fromkeys(allowed))
        raise PathNotAllowedError(f"The path lies outside the places that may be reached: {places}.")
    return path
