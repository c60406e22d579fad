"""Decides which paths clients may access through the file and git routes."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Query, Request

from agent_runtime.server.errors import ServerProblem, disk_full, is_disk_full
from agent_runtime.workspace.local import PathNotAllowedError, confine


def get_file_roots(request: Request) -> list[Path]:
    """Returns the directories that clients may access: `app.state.file_roots` and the system's temporary
    directory.

    `app.state.file_roots` are the workspace, and the directories of conversations and of their git work
    trees.
    """
    return [*request.app.state.file_roots, Path(tempfile.gettempdir())]


def allowed_path(
    path: Annotated[str, Query(description="Absolute path")],
    roots: Annotated[list[Path], Depends(get_file_roots)],
) -> Path:
    """Returns the real path of the query parameter `path`. Raises ServerProblem 400 if the path is relative.
    Raises ServerProblem 403 if the path is outside the directories that clients may access (`roots`).
    """
    if not os.path.isabs(path):  # noqa: PTH117 (a Path would hide an empty one)
        raise ServerProblem(400, "path_not_absolute", "The path must be absolute.")
    try:
        return confine(path, roots)
    except PathNotAllowedError as error:
        raise ServerProblem(403, "path_not_allowed", str(error)) from error


AllowedPath = Annotated[Path, Depends(allowed_path)]


def readable_roots(
    roots: Annotated[list[Path], Depends(get_file_roots)],
    within: Annotated[
        str | None,
        Query(description="An absolute path of a directory. Nothing outside of it is returned."),
    ] = None,
) -> list[Path]:
    """Returns the directories from which this request may read: `within`, or all directories that clients may
    access. Raises ServerProblem 403 if clients may not access the directory `within`.
    """
    return roots if within is None else [allowed_path(within, roots)]


ReadableRoots = Annotated[list[Path], Depends(readable_roots)]


def readable_path(path: Annotated[str, Query(description="Absolute path")], roots: ReadableRoots) -> Path:
    """Returns the real path of the query parameter `path`. Raises ServerProblem 403 if it is outside the
    directories from which this request may read (`roots`), for example because of a symbolic link.
    """
    return allowed_path(path, roots)


ReadablePath = Annotated[Path, Depends(readable_path)]


def writable_path(
    request: Request, path: AllowedPath, roots: Annotated[list[Path], Depends(get_file_roots)]
) -> Path:
    """Checks that clients may write to `path`, and returns it. `path`: the path in the request, which
    `allowed_path` has already checked.

    Raises ServerProblem 403 if the path is in the directory of conversations, because a client could
    overwrite a conversation's log there.
    """
    innermost = max(
        (real for root in roots if path.is_relative_to(real := root.resolve())),
        key=lambda one: len(one.parts),
    )
    if innermost == request.app.state.config.conversations_path.resolve():
        raise ServerProblem(
            403,
            "path_not_writable",
            "Files of conversations may be read, and are written by the server alone.",
            "Name a path in the workspace.",
        )
    return path


WritablePath = Annotated[Path, Depends(writable_path)]


@contextmanager
def os_errors_as_problems() -> Iterator[None]:
    """Converts errors of the file system in the `with` block to a ServerProblem for the client (400, 403,
    404, or 507 for a full disk).
    """
    try:
        yield
    except FileNotFoundError as error:
        raise ServerProblem(404, "not_found", "There is no such file or directory.") from error
    except PermissionError as error:
        raise ServerProblem(403, "permission_denied", "The agent server may not do that there.") from error
    except OSError as error:
        if is_disk_full(error):
            raise disk_full() from error
        raise ServerProblem(
            400, "file_system_refused", f"The file system refused: {error.strerror}."
        ) from error
