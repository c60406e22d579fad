"""Which paths the file and git routes may reach."""

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
    """Workspace and conversations' directories (`app.state.file_roots`), and the system's temporary one."""
    return [*request.app.state.file_roots, Path(tempfile.gettempdir())]


def allowed_path(
    path: Annotated[str, Query(description="Absolute path")],
    roots: Annotated[list[Path], Depends(get_file_roots)],
) -> Path:
    """The real path behind the query parameter `path`: 400 if it is relative, 403 outside the roots."""
    if not os.path.isabs(path):  # noqa: PTH117 (a Path would hide an empty one)
        raise ServerProblem(400, "path_not_absolute", "The path must be absolute.")
    try:
        return confine(path, roots)
    except PathNotAllowedError as error:
        raise ServerProblem(403, "path_not_allowed", str(error)) from error


AllowedPath = Annotated[Path, Depends(allowed_path)]


def writable_path(
    request: Request, path: AllowedPath, roots: Annotated[list[Path], Depends(get_file_roots)]
) -> Path:
    """As `AllowedPath`; 403 among the conversations, too: what takes a log's place is lost with it."""
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
    """What the file system refuses is the answer to the client, not a failure of the server."""
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
