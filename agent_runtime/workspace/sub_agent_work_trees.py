"""Creates a separate git work tree for a sub-agent, and later merges the sub-agent's changes into the
directory of the agent that has started the sub-agent.

The work tree is on no branch. Its results are stored in refs below `refs/slipway/`, which no list of branches
shows. The user's branches, index and commits do not change. The merged changes appear in the agent's
directory as uncommitted edits. Other edits that were made in this directory at the same time stay.
"""

import asyncio
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakValueDictionary

from agent_runtime.workspace.git import GitError, run_git, top_level

_IDENTITY = {
    "GIT_AUTHOR_NAME": "Slipway",
    "GIT_AUTHOR_EMAIL": "slipway@localhost",
    "GIT_COMMITTER_NAME": "Slipway",
    "GIT_COMMITTER_EMAIL": "slipway@localhost",
}


# A lock for each work tree that is being started, merged back or removed. No two servers share a work tree.
_at_work: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()


@dataclass(frozen=True)
class Return:
    """The result of merging the changes of a separate work tree into the original directory.

    `files`: the changed files, relative to the repository. `conflicts`: files that were changed in both
    directories; if there are any, nothing was merged. `ref`: the git ref of the commit with the changes of
    the separate work tree. `base`: the commit with which these changes were compared.
    """

    files: tuple[str, ...]
    conflicts: tuple[str, ...]
    ref: str
    base: str


async def begin(directory: Path, work_tree: Path, name: str) -> Path:
    """Creates a git work tree for a sub-agent in the directory `work_tree`. An existing work tree is left
    unchanged. Returns the path in the work tree that corresponds to `directory`.

    `directory`: the directory of the agent that starts the sub-agent. `name`: the name of the sub-agent's
    task in git refs. Raises GitError if git cannot create the work tree.

    For a new task, the work tree begins with the commit HEAD. A task may also be continued after its work
    tree was removed. The new work tree then begins with the commit that was last merged back. If nothing was
    merged back, it begins with the same commit as the removed work tree.
    """
    async with _alone(work_tree):
        top = await top_level(directory)
        prefix = os.fsdecode(await run_git(directory, "rev-parse", "--show-prefix")).strip("\n/")
        if not await asyncio.to_thread(work_tree.exists):
            known = await _resolved(top, _base_ref(name))
            start = known or await _resolved(top, "HEAD")
            if start is None:
                raise GitError("The repository has no commit yet.")
            await asyncio.to_thread(work_tree.parent.mkdir, parents=True, exist_ok=True)
            await run_git(top, "worktree", "prune")
            await run_git(top, "worktree", "add", "--quiet", "--detach", "--", str(work_tree), start)
            await run_git(top, "update-ref", _base_ref(name), start)
        return work_tree / prefix


async def bring_back(directory: Path, work_tree: Path, name: str) -> Return:
    """Merges the changes of a sub-agent in `work_tree` into `directory`, including changes that are not
    committed. `name`: the name of the sub-agent's task in git refs.

    Removes the work tree; its changes are stored in a git ref. If GitError is raised, nothing in `directory`
    has changed.
    """
    async with _alone(work_tree):
        top = await top_level(directory)
        base = (await run_git(top, "rev-parse", "--verify", _base_ref(name))).decode().strip()
        work = await _commit_all(work_tree)
        ref = f"refs/slipway/tasks/{name}"
        await run_git(top, "update-ref", ref, work)
        await run_git(top, "worktree", "remove", "--force", "--", str(work_tree))
        files, conflicts = await _merge(top, base, work)
        if not conflicts:
            await run_git(top, "update-ref", _base_ref(name), work)
        return Return(files, conflicts, ref, base)


async def forget(directory: Path, work_tree: Path, name: str) -> None:
    """Removes the work tree `work_tree` of a sub-agent's task with all its files, and the git refs of the
    task. `name`: the name of the task in these refs. Raises GitError if git fails.

    First waits until a running call of `begin` or `bring_back` has ended, so that no ref is left behind.
    """
    async with _alone(work_tree):
        if await asyncio.to_thread(work_tree.exists):
            await run_git(directory, "worktree", "remove", "--force", "--force", "--", str(work_tree))
        for ref in (f"refs/slipway/tasks/{name}", _base_ref(name)):
            await run_git(directory, "update-ref", "-d", ref)


def _alone(work_tree: Path) -> asyncio.Lock:
    return _at_work.setdefault(work_tree, asyncio.Lock())


def _base_ref(name: str) -> str:
    """Returns the name of the git ref for the commit with which the changes of a sub-agent's task are
    compared. `name`: the name of the task in git refs.

    At first, this is the commit with which the task's work tree began. After changes of the task were merged
    back, it is the last merged commit.
    """
    return f"refs/slipway/returned/{name}"


async def _commit_all(work_tree: Path) -> str:
    await run_git(work_tree, "add", "--all")
    tree = await run_git(work_tree, "write-tree")
    return await _commit_tree(work_tree, tree, "HEAD")


async def _merge(top: Path, base: str, work: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Merges the changes between the commits `base` and `work` into the files of the directory `top`, which
    may have other changes. Returns the changed files and the files in conflict. If there are conflicts,
    changes no file.
    """
    ours = await _tree_as_it_is(top)
    # Merges two new commits on `base`, so that `base` is the merge base even if branches were rebased.
    mine = await _commit_tree(top, ours, base)
    theirs = await _commit_tree(top, await run_git(top, "rev-parse", f"{work}^{{tree}}"), base)
    output = await run_git(
        top, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", mine, theirs, answers=(0, 1)
    )
    merged, *conflicts = os.fsdecode(output).removesuffix("\0").split("\0")
    if conflicts:
        return (), tuple(conflicts)
    tree = ours.decode().strip()
    names = await run_git(top, "diff-tree", "-r", "--no-renames", "--name-only", "-z", tree, merged)
    patch = await run_git(
        top, "diff-tree", "-r", "-p", "--no-renames", "--binary", "--full-index",
        "--src-prefix=a/", "--dst-prefix=b/", tree, merged,
    )  # fmt: skip
    if patch:
        # All or nothing: if a file has changed since it was read, git refuses the whole patch.
        await run_git(top, "apply", "--whitespace=nowarn", "-", stdin=patch)
    return tuple(os.fsdecode(names).split("\0")[:-1]), ()


async def _tree_as_it_is(top: Path) -> bytes:
    """Returns the id of a new git tree with all files in the directory that are not ignored. Uses a separate
    index, so the user's index does not change.
    """
    directory = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="slipway-index-"))
    try:
        own = {"GIT_INDEX_FILE": str(directory / "index")}
        await run_git(top, "read-tree", "HEAD", own=own)
        await run_git(top, "add", "--all", own=own)
        return await run_git(top, "write-tree", own=own)
    finally:
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)


async def _commit_tree(directory: Path, tree: bytes, parent: str) -> str:
    made = await run_git(
        directory,
        "commit-tree",
        tree.decode().strip(),
        "-p",
        parent,
        "-m",
        "Work of a sub-agent",
        own=_IDENTITY,
    )
    return made.decode().strip()


async def _resolved(top: Path, ref: str) -> str | None:
    found = await run_git(top, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", answers=(0, 1))
    return found.decode().strip() or None
