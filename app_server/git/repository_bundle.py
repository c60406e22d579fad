"""Fetches a repository on the app server's machine and packs it into one git bundle file for a sandbox.

Only the app server needs the credentials and the network. The sandbox receives only the file.
"""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from app_server.core.errors import StartFailure
from app_server.git.address import Address, without_credentials
from app_server.git.clone_failures import (
    MAX_NAMED_BRANCHES,
    REDIRECTED,
    branch_not_found,
    clone_failed,
    clone_timed_out,
)
from app_server.git.command import Credentials, GitResult, GitTimeout, run_git
from app_server.git.pinned_git import way_to
from app_server.git.redirects import moved_address
from app_server.http.guarded_client import Guard

_BUNDLE_TIMEOUT_SECONDS = 600.0
_QUERY_TIMEOUT_SECONDS = 30.0
_BRANCHES = "refs/heads/"


@dataclass(frozen=True)
class PackedRepository:
    """A repository that was fetched and packed. `bundle`: the path of the git bundle file; None for a
    repository without commits. `branch`: the branch to check out; None for a detached HEAD.
    """

    bundle: Path | None
    branch: str | None


async def pack(
    address: Address,
    branch: str | None,
    *,
    directory: Path,
    timeout_seconds: float,
    report: Callable[[str], None],
    credentials: Credentials | None = None,
    guard: Guard | None = None,
    require_moved: Callable[[str], Awaitable[None]] | None = None,
) -> PackedRepository:
    """Fetches a repository and writes all its branches and tags into one bundle file in `directory`. Returns
    the path of this file and the branch to check out. Writes no file if the repository has no commits.

    `branch`: the branch to check out, which must exist; None means the default branch. `timeout_seconds`: how
    long a clone may take. `report`: a function that is called with each progress line of git. `credentials`:
    the user's credentials for the host. They work over HTTP only, so ssh is not used if they are given.
    `guard`: prevents git from connecting to private network addresses; None means that all addresses are
    allowed.

    `require_moved`: a function that checks whether the user may use the repository at another address, and
    raises an error if not. It is called with the new address if the git host redirects, before git fetches
    from there. None means no check.

    Raises StartFailure with one of the codes `repository_not_found`, `repository_not_allowed`,
    `branch_not_found`, `repository_clone_failed` and `certificate_not_trusted`.
    """
    clone = directory / "clone.git"
    await _clone(address, clone, timeout_seconds, report, credentials, guard, require_moved)
    if branch is not None and not await _has_branch(clone, branch):
        raise branch_not_found(address, branch, await _first_branches(clone))
    if not await _lines(clone, "for-each-ref", "--count=1", "--format=x"):
        return PackedRepository(None, branch or await _head(clone) or "main")
    bundle = directory / "repository.bundle"
    await _bundle(clone, bundle)
    return PackedRepository(bundle, branch or await _default_branch(clone))


async def check_out(
    address: Address,
    branch: str | None,
    *,
    directory: Path,
    timeout_seconds: float,
    credentials: Credentials | None = None,
    guard: Guard | None = None,
) -> Path:
    """Fetches a repository and returns a folder in `directory` with the files of a branch. The folder has no
    `.git` directory.

    `branch`: the branch whose files are wanted; None means the default branch. `timeout_seconds`: how long a
    clone may take. `credentials`: the user's credentials for the git host; None if there are none. `guard`:
    prevents git from connecting to private network addresses; None means that all addresses are allowed.
    Raises StartFailure with one of the codes `repository_not_found`, `repository_not_allowed`,
    `branch_not_found`, `repository_clone_failed` and `certificate_not_trusted`.
    """
    clone, tree = directory / "clone.git", directory / "tree"
    await _clone(address, clone, timeout_seconds, lambda _line: None, credentials, guard)
    if branch is not None and not await _has_branch(clone, branch):
        raise branch_not_found(address, branch, await _first_branches(clone))
    at_branch = ["--branch", branch] if branch else []
    result = await run_git(
        "clone",
        "--quiet",
        "--shared",
        "--no-tags",
        "--template=",
        *at_branch,
        "--",
        str(clone),
        str(tree),
        directory=directory,
        timeout_seconds=timeout_seconds,
    )
    if result.exit_code != 0:
        raise clone_failed(address, result.output)
    # The .git folder differs from clone to clone, and refers to the other clone.
    await asyncio.to_thread(shutil.rmtree, tree / ".git")
    return tree


async def _clone(
    address: Address,
    clone: Path,
    timeout_seconds: float,
    report: Callable[[str], None],
    credentials: Credentials | None,
    guard: Guard | None,
    require_moved: Callable[[str], Awaitable[None]] | None = None,
) -> None:
    url = (address.web_url if credentials else None) or address.public_url
    way = await way_to(url, guard if address.local_path is None else None)

    async def attempt(url: str) -> GitResult:
        return await run_git(
            "clone",
            "--bare",
            "--progress",
            "--template=",
            "--",
            url,
            str(clone),
            directory=clone.parent,
            timeout_seconds=timeout_seconds,
            report=lambda line: report(without_credentials(line)),
            credentials=credentials,
            way=way,
        )

    try:
        result = await attempt(url)
        if result.exit_code != 0 and REDIRECTED in result.output:
            moved = await moved_address(url, credentials, guard)
            if moved is not None:
                if require_moved is not None:
                    await require_moved(moved)
                result = await attempt(moved)
    except GitTimeout as timeout:
        raise clone_timed_out(address, timeout_seconds, timeout.output) from timeout
    if result.exit_code != 0:
        raise clone_failed(address, without_credentials(result.output))


async def _bundle(clone: Path, bundle: Path) -> None:
    result = await run_git(
        "bundle",
        "create",
        "--quiet",
        str(bundle),
        "--branches",
        "--tags",
        "HEAD",
        directory=clone,
        timeout_seconds=_BUNDLE_TIMEOUT_SECONDS,
    )
    if result.exit_code != 0:
        # A HEAD without a commit cannot be packed, but the branches can.
        result = await run_git(
            "bundle",
            "create",
            "--quiet",
            str(bundle),
            "--branches",
            "--tags",
            directory=clone,
            timeout_seconds=_BUNDLE_TIMEOUT_SECONDS,
        )
    if result.exit_code != 0:
        raise StartFailure(
            "repository_clone_failed",
            "The repository could not be packed.",
            fix="Read git's output; `git fsck` in the repository may say more.",
            output=result.output,
        )


async def _default_branch(clone: Path) -> str | None:
    """Returns the branch that is checked out if the user has named no branch. This is the branch to which
    HEAD of the fetched repository points. Returns None for a detached HEAD.

    If the branch of HEAD has no commit, returns `main` if this branch exists, else `master` if it exists,
    else the first branch in alphabetical order. If no branch has a commit, returns the branch of HEAD.
    """
    head = await _head(clone)
    if head is None:
        return None
    for name in (head, "main", "master"):
        if await _has_branch(clone, name):
            return name
    return next(iter(await _first_branches(clone)), head)


async def _has_branch(clone: Path, name: str) -> bool:
    # The full name is used, because a short name could also mean a tag.
    result = await run_git(
        "show-ref",
        "--verify",
        "--quiet",
        f"{_BRANCHES}{name}",
        directory=clone,
        timeout_seconds=_QUERY_TIMEOUT_SECONDS,
    )
    return result.exit_code == 0


async def _first_branches(clone: Path) -> list[str]:
    """Returns the names of the first branches in alphabetical order, at most MAX_NAMED_BRANCHES + 1. An error
    message lists at most MAX_NAMED_BRANCHES names. The additional name only shows that more branches exist;
    the message then ends with "and more".
    """
    count = f"--count={MAX_NAMED_BRANCHES + 1}"
    return await _lines(clone, "for-each-ref", count, "--format=%(refname:lstrip=2)", _BRANCHES)


async def _head(clone: Path) -> str | None:
    result = await run_git(
        "symbolic-ref", "--quiet", "HEAD", directory=clone, timeout_seconds=_QUERY_TIMEOUT_SECONDS
    )
    return result.output.strip().removeprefix(_BRANCHES) or None if result.exit_code == 0 else None


async def _lines(clone: Path, *arguments: str) -> list[str]:
    result = await run_git(*arguments, directory=clone, timeout_seconds=_QUERY_TIMEOUT_SECONDS)
    return result.output.split()
