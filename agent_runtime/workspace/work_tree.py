"""Creates and removes additional git work trees of a repository, for parallel work."""

import os
from pathlib import Path

from agent_runtime.workspace.git import GitError, NotARepositoryError, run_git, top_level


async def add(directory: Path, work_tree: Path, branch: str, start: str = "HEAD") -> Path | None:
    """Creates a git work tree in the directory `work_tree`, on a new branch at the commit `start`. Returns
    the path in the work tree that corresponds to `directory`.

    Returns None if `directory` is in no repository, or in a repository without a commit. Raises GitError if
    git cannot make the work tree. Uncommitted changes are not copied.
    """
    try:
        top = await top_level(directory)
        await run_git(top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except GitError:
        return None
    work_tree.parent.mkdir(parents=True, exist_ok=True)
    await run_git(top, "worktree", "add", "--quiet", "--no-track", "-b", branch, "--", str(work_tree), start)
    prefix = await run_git(directory, "rev-parse", "--show-prefix")
    return work_tree / os.fsdecode(prefix).strip("\n/")


async def remove(work_tree: Path) -> bool:
    """Removes the git work tree `work_tree`, and its branch if git considers the branch fully merged. Returns
    True if the work tree is removed or does not exist. Returns False if git refuses to remove the work tree,
    for example because it has uncommitted work.
    """
    try:
        repository = await _repository(work_tree)
        branch = (await run_git(work_tree, "rev-parse", "--abbrev-ref", "HEAD")).decode().strip()
        await run_git(repository, "worktree", "remove", "--", str(work_tree))
    except NotARepositoryError:
        return True
    except GitError:
        return False  # it holds work that is not committed
    await _delete_merged(repository, branch)
    return True


async def _repository(work_tree: Path) -> Path:
    found = await run_git(work_tree, "rev-parse", "--path-format=absolute", "--git-common-dir")
    return Path(found.decode().removesuffix("\n"))


async def _delete_merged(repository: Path, branch: str) -> None:
    try:
        await run_git(repository, "branch", "--quiet", "--delete", "--", branch)
    except GitError:
        return  # it has commits that no other branch has
