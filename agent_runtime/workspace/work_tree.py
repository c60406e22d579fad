"""Creates and removes additional git work trees of a repository, for parallel work."""

import os
from pathlib import Path

from agent_runtime.workspace.git import GitError, NotARepositoryError, run_git, top_level


async def add(directory: Path, place: Path, branch: str, start: str = "HEAD") -> Path | None:
    """Creates a git work tree in the directory `place`, on a new branch at the commit `start`. Returns the
    path in the work tree that corresponds to `directory`.

    Returns None if `directory` is in no repository, or in a repository without a commit. Raises GitError if
    git cannot make the work tree. Uncommitted changes are not copied.
    """
    try:
        top = await top_level(directory)
        await run_git(top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except GitError:
        return None
    place.parent.mkdir(parents=True, exist_ok=True)
    await run_git(top, "worktree", "add", "--quiet", "--no-track", "-b", branch, "--", str(place), start)
    prefix = await run_git(directory, "rev-parse", "--show-prefix")
    return place / os.fsdecode(prefix).strip("\n/")


async def remove(place: Path) -> bool:
    """Removes the work tree, and its branch if it is fully merged. Returns False if git refuses to remove the
    work tree, for example because it has uncommitted work.
    """
    try:
        repository = await _repository(place)
        branch = (await run_git(place, "rev-parse", "--abbrev-ref", "HEAD")).decode().strip()
        await run_git(repository, "worktree", "remove", "--", str(place))
    except NotARepositoryError:
        return True
    except GitError:
        return False  # it holds work that is not committed
    await _delete_merged(repository, branch)
    return True


async def _repository(place: Path) -> Path:
    found = await run_git(place, "rev-parse", "--path-format=absolute", "--git-common-dir")
    return Path(found.decode().removesuffix("\n"))


async def _delete_merged(repository: Path, branch: str) -> None:
    try:
        await run_git(repository, "branch", "--quiet", "--delete", "--", branch)
    except GitError:
        return  # it has commits that no other branch has
