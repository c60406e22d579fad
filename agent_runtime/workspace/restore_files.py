"""Restores the files of a directory to an earlier state. The files are replaced one by one, each in a single
step.
"""

import os
import shutil
import stat
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from agent_runtime.workspace.git import Change, ChangeStatus

TEMPORARY_PREFIX = ".slipway-rewind-"


@dataclass(frozen=True)
class RestorePlan:
    """The changes to files that restore an earlier state of a directory. All paths are relative to this
    directory.

    `removes`: the paths of files to remove. `writes`: the paths of files to write. `added`: the paths in
    `writes` at which no file exists now.
    """

    removes: frozenset[str]
    writes: tuple[str, ...]
    added: frozenset[str]

    @classmethod
    def of(cls, changes: Iterable[Change], leave: Collection[str]) -> "RestorePlan":
        """Returns a plan that makes changes to files. `changes`: the changes that turn the current state of
        the directory into the wanted state. `leave`: the paths of files that must stay as they are; changes
        to these files are left out of the plan.
        """
        wanted = [change for change in changes if change.path not in leave]
        removes = (change.path for change in wanted if change.status is ChangeStatus.DELETED)
        writes = (change.path for change in wanted if change.status is not ChangeStatus.DELETED)
        added = (change.path for change in wanted if change.status is ChangeStatus.ADDED)
        return cls(frozenset(removes), tuple(writes), frozenset(added))


def blocked(directory: Path, plan: RestorePlan) -> list[str]:
    """Returns the paths to which the plan must write a file but cannot, because something else is at this
    path. This is a file or directory that the plan does not remove. `directory`: the directory to restore.
    """
    return [path for path in plan.writes if _is_blocked(directory, path, plan)]


def apply(directory: Path, plan: RestorePlan, staging: Path) -> None:
    """Removes and writes the files of the plan. `directory`: the directory to restore. `staging`: a directory
    that contains the new files under the same relative paths.

    An earlier call that was killed may have left temporary files. This call removes them from all directories
    in which the plan writes files.
    """
    for folder in {(directory / path).parent for path in plan.writes}:
        for draft in folder.glob(f"{TEMPORARY_PREFIX}*"):
            if draft.is_symlink() or draft.is_file():
                draft.unlink()
    for path in plan.removes:
        if not is_beyond_link(directory, path):
            _remove(directory, path)
    for path in plan.writes:
        _put(staging / path, directory / path)


def is_beyond_link(directory: Path, path: str) -> bool:
    """Returns whether the path leads through a symbolic link, so that the file is in another directory than
    the path says. `path`: relative to `directory`.
    """
    return any((directory / parent).is_symlink() for parent in Path(path).parents[:-1])


def _is_blocked(directory: Path, path: str, plan: RestorePlan) -> bool:
    for parent in reversed(Path(path).parents[:-1]):
        ancestor = directory / parent
        if not os.path.lexists(ancestor):
            return False
        if ancestor.is_symlink() or not ancestor.is_dir():
            return str(parent) not in plan.removes
    target = directory / path
    if target.is_symlink() or not target.is_dir():
        return path in plan.added and os.path.lexists(target)
    return any(str(inside.relative_to(directory)) not in plan.removes for inside in _files_in(target))


def _files_in(directory: Path) -> Iterable[Path]:
    for folder, directories, files in os.walk(directory):
        yield from (Path(folder, name) for name in files)
        yield from (Path(folder, name) for name in directories if Path(folder, name).is_symlink())


def _remove(directory: Path, path: str) -> None:
    with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
        (directory / path).unlink()
    for parent in Path(path).parents[:-1]:
        try:
            (directory / parent).rmdir()
        except OSError:
            return  # something is left in it


def _put(staged: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    is_link = staged.is_symlink()
    if target.is_dir() and not target.is_symlink():
        _remove_empty(target)
    elif not is_link and not target.is_symlink() and target.exists():
        _keep_permissions(target, staged)
    # The draft is beside the target, because the staged file may be on another disk and could not be renamed.
    draft = target.with_name(f"{TEMPORARY_PREFIX}{uuid4().hex}")
    try:
        shutil.copy(staged, draft, follow_symlinks=False)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _remove_empty(directory: Path) -> None:
    for folder, _, _ in os.walk(directory, topdown=False):
        Path(folder).rmdir()


def _keep_permissions(target: Path, staged: Path) -> None:
    """Gives a new file the permissions to read and write of the file that it will replace. `target`: the file
    to replace. `staged`: the new file.

    The permissions to execute are not taken over. If the new file is executable, every user who may read it
    may also execute it. Otherwise no user may execute it.
    """
    old, new = target.stat().st_mode, staged.stat().st_mode
    executable = (old & 0o444) >> 2 if new & stat.S_IXUSR else 0
    staged.chmod((stat.S_IMODE(old) & ~0o111) | executable)
