"""Makes snapshots of a directory and stores them in a separate git repository outside of the directory.

The directory need not be a git repository. If it is a git repository, this module neither uses nor changes
its index, branches, configuration and hooks. Files are stored byte for byte: git attributes, filters and
settings for line endings have no effect.

A snapshot contains regular files with their executable bit, symbolic links as links, and repositories inside
the directory as plain files. It does not contain files that `.gitignore` files exclude, anything named
`.git`, empty directories, and `skipped` files, which are too big or cannot be read.
"""

import asyncio
import os
import shutil
import stat
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from uuid import uuid4

from agent_runtime.workspace.git import Change, GitError, parse_name_status, run_git
from agent_runtime.workspace.restore_files import (
    TEMPORARY_PREFIX,
    RestorePlan,
    apply,
    blocked,
    is_beyond_link,
)

MAX_FILE_BYTES = 10 * 1024**2
MAX_NEW_FILES = 50_000
MAX_NEW_BYTES = 1024**3
"""The largest number of bytes that one snapshot may add. The limit prevents snapshots of a whole home
directory.
"""

# Files may vanish between being listed and being read, while something works there.
_ATTEMPTS = 3

# No other settings of git are read (see run_git).
_CONFIG = """\
[core]
\trepositoryFormatVersion = 0
\tbare = false
\tfileMode = true
\tsymlinks = true
\tignoreCase = false
\tprecomposeUnicode = false
\tprotectHFS = false
\tprotectNTFS = false
\tautocrlf = false
\tsafecrlf = false
\tcompression = 1
\texcludesFile = /dev/null
\tattributesFile = /dev/null
[gc]
\tauto = 0
"""
# These come before those of any `.gitattributes`: nothing is converted, no program is run.
_ATTRIBUTES = "* !text !crlf !eol !ident !filter !working-tree-encoding !diff !merge !export-subst\n"
_EXCLUDED = (f"{TEMPORARY_PREFIX}*", "node_modules/", ".venv/", "__pycache__/", "*.pyc")


class WorkspaceTooLargeError(GitError):
    """The error that is raised when a snapshot cannot be made because too much is new or changed in the
    directory. The number of such files, and of the bytes in them, is limited for each snapshot.
    """

    code: ClassVar[str] = "workspace_too_large"


@dataclass(frozen=True)
class Snapshot:
    """The content of a directory at one time, stored in git. `tree`: the hash of the git tree. `skipped`:
    paths of files that are not in the snapshot.
    """

    tree: str
    skipped: tuple[str, ...] = ()


class Shadow:
    """The store of the snapshots of one directory. Only one call may run at a time. A call that is
    interrupted can simply be repeated.
    """

    def __init__(self, repository_path: Path, work_tree: Path, excluded: Iterable[Path] = ()) -> None:
        """Stores the settings; nothing is created on disk yet. `repository_path`: the directory of the
        snapshot repository, which the first snapshot creates. `work_tree`: the directory of which snapshots
        are made. `excluded`: absolute paths that are left out if they are inside `work_tree`.
        """
        self.repository_path = repository_path
        self.work_tree = work_tree
        self._index = repository_path / "index"
        self._excluded = [path for path in excluded if path.is_relative_to(work_tree) and path != work_tree]
        self._tree: str | None = None

    async def snapshot(self) -> Snapshot:
        """Makes a snapshot of the current files and returns it. Call `hold` to protect the snapshot from
        deletion.

        Raises GitError if git or the directory is missing, or if git cannot read a part of the directory.
        Raises WorkspaceTooLargeError if the new and changed files are too many or too large.
        """
        await asyncio.to_thread(self._prepare)
        for attempt in range(_ATTEMPTS):
            try:
                return await self._snapshot()
            except WorkspaceTooLargeError:
                raise
            except GitError:
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError

    async def hold(self, *trees: str) -> None:
        """Protects the given snapshots from deletion, until `tidy` is called without their ids. `trees`: the
        ids of the snapshots.
        """
        await asyncio.to_thread(self._hold, trees)

    async def tidy(self, keep: Collection[str]) -> None:
        """Deletes all snapshots except those with the ids in `keep`, and packs the snapshot repository."""
        await asyncio.to_thread(self._release_all_but, frozenset(keep))
        await self._git("repack", "-a", "-d", "-q")
        await self._git("prune", "--expire=now")

    async def changes(self, before: str, after: str) -> list[Change]:
        """Returns the files that differ between two snapshots, sorted by path. A moved file counts as one
        deleted and one added file.
        """
        if before == after:
            return []
        output = await self._git("diff-tree", "-r", "-z", "--no-renames", "--name-status", before, after)
        return sorted(parse_name_status(output), key=lambda change: change.path)

    async def patch(self, before: str, after: str) -> bytes:
        """Returns the difference between two snapshots as a unified diff. For binary files, the diff only
        says that the files differ.
        """
        options = ("--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--full-index")
        prefixes = ("--src-prefix=a/", "--dst-prefix=b/")
        return await self._git("diff", *options, *prefixes, before, after)

    async def blocked(self, present: str, target: str, leave: Collection[str]) -> list[str]:
        """Returns the paths of the snapshot `target` that `restore` could not write, because something else
        is at this path. This is a file or directory that `restore` does not remove, for example one that no
        snapshot contains.

        `present`: a snapshot of the current files. `leave`: the paths that `restore` must not change.
        """
        plan = RestorePlan.of(await self.changes(present, target), leave)
        return await asyncio.to_thread(blocked, self.work_tree, plan)

    async def mixed(self, target: str, present: str, leave: Collection[str]) -> str:
        """Returns the id of a git tree with the files that a call of `restore` with the same arguments
        produces. A caller can compare this tree with the actual files.

        In the tree, the paths in `leave` are as in the snapshot `present`. All other files are as in the
        snapshot `target`.
        """
        if not leave:
            return target
        retained_entries = await self._entries(present, leave)
        gone = b"".join(b"0 %s\t%s\0" % (b"0" * 40, os.fsencode(path)) for path in leave)
        index = self.repository_path / f"index-{uuid4().hex}"
        await self._git("read-tree", target, index=index)
        await self._git("update-index", "-z", "--index-info", index=index, stdin=gone + retained_entries)
        tree = (await self._git("write-tree", index=index)).decode().strip()
        await asyncio.to_thread(index.unlink)
        return tree

    async def restore(self, present: str, target: str, leave: Collection[str]) -> None:
        """Changes the files of the directory to those of the snapshot `target`. `present`: a snapshot of the
        current files. `leave`: paths that are not changed.

        Each file is replaced in one step. A second call completes a first call that was interrupted.
        Directories that become empty are removed.
        """
        plan = RestorePlan.of(await self.changes(present, target), leave)
        staging = self.repository_path / f"staging-{uuid4().hex}"
        try:
            await self._stage(target, plan.writes, staging)
            await asyncio.to_thread(apply, self.work_tree, plan, staging)
        finally:
            await asyncio.to_thread(shutil.rmtree, staging, ignore_errors=True)

    async def adopt(self, tree: str) -> Snapshot:
        """Makes an existing git tree the last snapshot, and returns this snapshot. Must be called only after
        the files of the directory were restored to this tree. `tree`: the id of the tree. Raises GitError if
        git or the directory is missing.

        A call of `snapshot` would fail if a rewind restored more files than one snapshot may add. This method
        has no such limit, because it stores no files: the tree already contains them. The next call of
        `snapshot` stores only the files that differ from this tree.
        """
        draft = self.repository_path / f"index-{uuid4().hex}"
        await self._git("read-tree", tree, index=draft)
        await self._git("update-index", "-q", "--refresh", index=draft)
        draft.replace(self._index)
        self._tree = tree
        return Snapshot(tree)

    # The repository

    async def _git(
        self, *arguments: str, index: Path | None = None, work_tree: Path | None = None, stdin: bytes = b""
    ) -> bytes:
        where = work_tree or self.work_tree
        own = {
            "GIT_DIR": str(self.repository_path),
            "GIT_WORK_TREE": str(where),
            "GIT_INDEX_FILE": str(index or self._index),
            "GIT_ATTR_NOSYSTEM": "1",
        }
        return await run_git(where, *arguments, own=own, stdin=stdin)

    def _prepare(self) -> None:
        """Creates the snapshot repository if it does not exist, and removes files that an interrupted call
        left. Writes the repository's files directly, because a call of git would take too long.
        """
        if not (self.repository_path / "HEAD").exists():
            for name in ("objects", "refs/snapshots", "info"):
                (self.repository_path / name).mkdir(parents=True, exist_ok=True, mode=0o700)
            (self.repository_path / "config").write_text(_CONFIG)
            (self.repository_path / "info/attributes").write_text(_ATTRIBUTES)
            (self.repository_path / "HEAD").write_text("ref: refs/heads/none\n")
        own = [_pattern(path.relative_to(self.work_tree)) for path in self._excluded]
        (self.repository_path / "info/exclude").write_text("\n".join((*_EXCLUDED, *own, "")))
        for left in (*self.repository_path.glob("index-*"), *self.repository_path.glob("*.lock")):
            left.unlink(missing_ok=True)
        for left in self.repository_path.glob("staging-*"):
            shutil.rmtree(left, ignore_errors=True)

    def _hold(self, trees: Iterable[str]) -> None:
        for tree in trees:
            ref = self.repository_path / "refs/snapshots" / tree
            if not ref.exists():
                draft = self.repository_path / f"ref-{tree}"
                draft.write_text(f"{tree}\n")
                draft.replace(ref)

    def _release_all_but(self, keep: Collection[str]) -> None:
        for ref in (self.repository_path / "refs/snapshots").iterdir():
            if ref.name not in keep:
                ref.unlink()

    async def _entries(self, tree: str, paths: Collection[str]) -> bytes:
        """Returns the entries of the git tree `tree` for these paths. The result can be the input of the
        command `git update-index --index-info`.
        """
        wanted = {os.fsencode(path) for path in paths}
        listed = (await self._git("ls-tree", "-r", "-z", tree)).split(b"\0")
        return b"".join(line + b"\0" for line in listed if line.partition(b"\t")[2] in wanted)

    # Looking

    async def _snapshot(self) -> Snapshot:
        names = await self._differing()
        found = await asyncio.to_thread(self._sort, names)
        if found.gone or found.changed or self._tree is None:
            self._tree = await self._record(found)
        return Snapshot(self._tree, tuple(sorted(found.skipped)))

    async def _differing(self) -> "_Differing":
        local = self.work_tree / ".git/info/exclude"
        more = (f"--exclude-from={local}",) if local.is_file() else ()
        options = ("-z", "-t", "--modified", "--others", "--exclude-standard", *more)
        listed = dict.fromkeys((await self._git("ls-files", *options)).split(b"\0"))
        known = [line[2:] for line in listed if line and not line.startswith(b"?")]
        others = [line[2:] for line in listed if line.startswith(b"?")]
        return _Differing(known, await self._with_repositories_within(others))

    async def _with_repositories_within(self, names: Iterable[bytes]) -> list[bytes]:
        found = []
        for name in names:
            if not name.endswith(b"/"):
                found.append(name)
                continue
            # Git names only the directory of a repository inside.
            inner = await self._git(
                "ls-files", "-z", "--others", "--exclude-standard",
                index=self.repository_path / "index-none", work_tree=self.work_tree / os.fsdecode(name),
            )  # fmt: skip
            listed = [name + one for one in inner.split(b"\0") if one]
            found += await self._with_repositories_within(listed)
        return found

    def _sort(self, names: "_Differing") -> "_IndexChanges":
        found = _IndexChanges([], [], [])
        total = 0
        for name in (*names.known, *names.others):
            path = os.fsdecode(name)
            size = self._size(path)
            is_kept = size is not None and 0 <= size <= MAX_FILE_BYTES
            if size is not None and is_kept and not _is_refused_by_git(self.work_tree, path):
                found.changed.append(name)
                total += size
            elif size is not None:
                found.skipped.append(path)
        taken = set(found.changed)
        found.gone.extend(name for name in names.known if name not in taken)
        if len(found.changed) > MAX_NEW_FILES or total > MAX_NEW_BYTES:
            raise WorkspaceTooLargeError(
                f"{len(found.changed):,} files with {total:,} bytes are too many for a checkpoint."
            )
        return found

    def _size(self, path: str) -> int | None:
        """Returns the file's size in bytes. Returns -1 if the file cannot be read. Returns None if the path
        is not a regular file or a symbolic link, or if it leads through a symbolic link.
        """
        try:
            if is_beyond_link(self.work_tree, path):
                return None
            status = (self.work_tree / path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return -1
        if stat.S_ISLNK(status.st_mode):
            return status.st_size
        if not stat.S_ISREG(status.st_mode):
            return None
        return status.st_size if os.access(self.work_tree / path, os.R_OK, effective_ids=True) else -1

    async def _record(self, found: "_IndexChanges") -> str:
        """Stores the changed files in `found` in the snapshot repository. Returns the id of the new git tree
        with all files of the directory. Works on a copy of the git index, so that the index is never half
        updated.
        """
        draft = self.repository_path / f"index-{uuid4().hex}"
        if self._index.exists():
            await asyncio.to_thread(shutil.copy2, self._index, draft)
        if found.gone:
            await self._update_index(draft, "--force-remove", found.gone)
        if found.changed:
            await self._update_index(draft, "--add", found.changed)
        tree = (await self._git("write-tree", index=draft)).decode().strip()
        if draft.exists():
            draft.replace(self._index)
        return tree

    async def _update_index(self, index: Path, how: str, names: Sequence[bytes]) -> None:
        stdin = b"\0".join(names) + b"\0"
        await self._git("update-index", "-z", how, "--replace", "--stdin", index=index, stdin=stdin)

    # Putting back

    async def _stage(self, target: str, writes: Collection[str], staging: Path) -> None:
        await asyncio.to_thread(staging.mkdir, mode=0o700)
        if not writes:
            return
        index = self.repository_path / f"index-{uuid4().hex}"
        await self._git("read-tree", target, index=index)
        stdin = b"\0".join(map(os.fsencode, writes)) + b"\0"
        await self._git("checkout-index", f"--prefix={staging}/", "-z", "--stdin", index=index, stdin=stdin)
        await asyncio.to_thread(index.unlink)


@dataclass(frozen=True)
class _Differing:
    """The names of files in the directory that differ from the git index, in which the last snapshot is
    stored. `known`: changed or deleted files that are in the index. `others`: new files, which are not in the
    index.
    """

    known: Sequence[bytes]
    others: Sequence[bytes]


@dataclass(frozen=True)
class _IndexChanges:
    """The changes to make to the git index. `gone`: names of files to remove from the index. `changed`: names
    of files to read into the index. `skipped`: paths of files that are too large or cannot be read.
    """

    gone: list[bytes]
    changed: list[bytes]
    skipped: list[str]


def _pattern(path: Path) -> str:
    """Returns a line for git's exclude file that matches only this path."""
    quoted = "".join(f"\\{character}" if character in "\\*?[ !#" else character for character in str(path))
    return f"/{quoted}"


def _is_refused_by_git(work_tree: Path, path: str) -> bool:
    """Returns whether git refuses to store a file with this path."""
    parts = [part.lower() for part in path.split("/")]
    return ".git" in parts or (parts[-1] == ".gitmodules" and (work_tree / path).is_symlink())
