"""What changed in a repository of the workspace, for clients of the agent server."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel

from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.roots import AllowedPath, allowed_path, get_file_roots
from agent_runtime.workspace import git

router = APIRouter(prefix="/api/git", tags=["Git"])


class GitChange(BaseModel):
    status: git.ChangeStatus
    path: str


class GitDiff(BaseModel):
    modified: str | None
    original: str | None


@contextmanager
def git_errors_as_problems() -> Iterator[None]:
    try:
        yield
    except git.NotARepositoryError as error:
        fix = "Pass a directory inside a git work tree."
        raise ServerProblem(404, "not_a_repository", str(error), fix) from error
    except git.UnknownRefError as error:
        raise ServerProblem(404, "unknown_ref", str(error)) from error
    except git.UnknownFileError as error:
        raise ServerProblem(404, "not_found", str(error)) from error
    except git.GitError as error:
        raise ServerProblem(409, "git_failed", str(error)) from error


def allowed_file(
    path: Annotated[str, Query(description="Absolute path of the file")],
    roots: Annotated[list[Path], Depends(get_file_roots)],
) -> Path:
    """As `allowed_path`, but a link at the end is not followed: git knows the link itself."""
    parent, name = os.path.split(os.path.normpath(path))
    if "\0" in name:
        raise ServerProblem(403, "path_not_allowed", "No file can have this name.")
    return allowed_path(parent, roots) / name


@router.get("/changes")
async def git_changes(path: AllowedPath, ref: str | None = None) -> list[GitChange]:
    """Files that differ from `ref`; without it, from where the branch left its upstream."""
    with git_errors_as_problems():
        found = await git.changes(path, ref)
    return [GitChange(status=change.status, path=change.path) for change in found]


@router.get("/diff")
async def git_diff(path: Annotated[Path, Depends(allowed_file)], ref: str | None = None) -> GitDiff:
    """One file before and now."""
    with git_errors_as_problems():
        found = await git.diff(path, ref)
    return GitDiff(modified=found.modified, original=found.original)
