"""Routes for the git changes and commits of a repository in the workspace, and for the repositories that git
commands can reach.
"""

import asyncio
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Query, Request
from pydantic import BaseModel, StringConstraints

from agent_runtime.client.workspace import GitChange, GitDiff
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.outgoing.git_remotes import RemotesFile
from agent_runtime.server.roots import AllowedPath, allowed_path, get_file_roots, os_errors_as_problems
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import GitRemotes, Success
from agent_runtime.workspace import git

router = Router(prefix="/api/git", tags=["Git"])


_STATUS = {"not_a_repository": 404, "unknown_ref": 404, "not_found": 404}
_FIXES = {"not_a_repository": "Pass a directory inside a git work tree."}


class GitCommit(BaseModel):
    sha: str
    short_sha: str
    subject: str
    author: str
    timestamp: str


class GitCommitsPage(BaseModel):
    commits: list[GitCommit]
    has_more: bool


SIGNS_WITH_SSH = (2, 34)
"""The first version of git that can sign commits with OpenSSH keys."""

Sha = Annotated[str, StringConstraints(pattern="^[0-9a-fA-F]{4,64}$")]


@contextmanager
def git_errors_as_problems() -> Iterator[None]:
    """Converts errors of git and of the file system in the `with` block to a ServerProblem for the client."""
    try:
        with os_errors_as_problems():
            yield
    except git.GitError as error:
        raise ServerProblem(
            _STATUS.get(error.code, 409), error.code, str(error), _FIXES.get(error.code)
        ) from error


def allowed_file(
    path: Annotated[str, Query(description="Absolute path of the file")],
    roots: Annotated[list[Path], Depends(get_file_roots)],
) -> Path:
    """Returns the path of a file if clients may access the file. `path`: the file's path in the request.
    `roots`: the directories that clients may access. Raises the same errors as `allowed_path`. If the path
    itself is a symbolic link, the link is not resolved, because git tracks the link and not its target.
    """
    parent, name = os.path.split(os.path.normpath(path))
    if "\0" in name:
        raise ServerProblem(403, "path_not_allowed", "No file can have this name.")
    return allowed_path(parent, roots) / name


@router.get("/changes")
async def git_changes(path: AllowedPath, ref: str | None = None) -> list[GitChange]:
    """Returns the files of the repository that differ from the commit `ref`. Without `ref`, compares with the
    last commit that the current branch and its upstream branch have in common. If there is no upstream
    branch, the default branch of the remote `origin` is used. If there is no common commit at all, compares
    with the last commit.
    """
    with git_errors_as_problems():
        found = await git.changes(path, ref)
    return _wire_changes(found)


@router.get("/commits")
async def git_commits(path: AllowedPath, limit: Annotated[int, Query(ge=1, le=200)] = 50) -> GitCommitsPage:
    """Returns the latest commits of the current branch, newest first."""
    with git_errors_as_problems():
        found, has_more = await git.commits(path, limit)
    return GitCommitsPage(commits=[GitCommit(**asdict(one)) for one in found], has_more=has_more)


@router.get("/commits/{sha}/changes")
async def git_commit_changes(sha: Sha, path: AllowedPath) -> list[GitChange]:
    """Returns the files that a commit changed, compared with the first parent of the commit."""
    with git_errors_as_problems():
        return _wire_changes(await git.commit_changes(path, sha))


@router.get("/diff")
async def git_diff(
    path: Annotated[Path, Depends(allowed_file)], ref: str | None = None, commit: Sha | None = None
) -> GitDiff:
    """Returns an older and a newer version of one file.

    With `commit`: the file before and after this commit. Without `commit`: the file in the commit `ref`, and
    the present file. Without `commit` and `ref`: the file in the commit that GET /api/git/changes compares
    with by default, and the present file.
    """
    with git_errors_as_problems():
        found = await (git.commit_diff(path, commit) if commit else git.diff(path, ref))
    return GitDiff(modified=found.modified, original=found.original)


@router.put(
    "/remotes",
    responses={
        409: {"description": "It has no way to an app server's git proxy, or git cannot sign commits"}
    },
)
async def set_git_remotes(given: GitRemotes, request: Request) -> Success:
    """Sets the repositories that git commands in the sandbox reach through the app server. Also sets how git
    signs commits. All settings of the previous request are replaced.
    """
    remotes: RemotesFile | None = request.app.state.git_remotes
    if remotes is None:
        raise ServerProblem(
            409,
            "git_outlet_off",
            "Git of commands has no way out through this agent server.",
            "Start it with OH_GIT_OUTLET_PORT and an app server.",
        )
    if given.signing is not None:
        await _require_ssh_signatures()
    await asyncio.to_thread(remotes.set, given)
    return Success()


async def _require_ssh_signatures() -> None:
    with git_errors_as_problems():
        version = await git.version()
    if version < SIGNS_WITH_SSH:
        raise ServerProblem(
            409,
            "git_too_old",
            f"Git {version[0]}.{version[1]} of this sandbox cannot sign commits.",
            "Use a sandbox image with git 2.34 or newer, or turn signing of commits off.",
        )


def _wire_changes(changes: Iterable[git.Change]) -> list[GitChange]:
    return [GitChange(status=change.status, path=change.path) for change in changes]
