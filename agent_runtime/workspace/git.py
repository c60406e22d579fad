"""Reads the changes in a git repository: the list of changed files, the change of one file, or all changes as
a patch.

The module uses the git program and a separate index. The user's index, configuration and object store do not
change. Untracked files count as added; ignored files do not count.
"""

import asyncio
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from agent_runtime.workspace.environment import command_environment
from agent_runtime.workspace.processes import run_program

TIMEOUT_SECONDS = 60.0
MAX_SHOWN_BYTES = 5 * 1024 * 1024
# Files may vanish between being listed and being looked at, while an agent works.
_ATTEMPTS = 3

_OPTIONS = (
    "-c", "core.quotepath=off",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "safe.directory=*",  # the workspace often belongs to another user than the server
    "--literal-pathspecs",
)  # fmt: skip
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
}
_USUAL_DEFAULTS = ("remotes/origin/main", "remotes/origin/master", "heads/main", "heads/master")
_DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--find-renames")


class GitError(Exception):
    """The error that is raised when a git command failed or took too long, or when git is missing. The text
    says why.
    """

    code: ClassVar[str] = "git_failed"


class NotARepositoryError(GitError):
    """The error that is raised when there is no git work tree at a path."""

    code = "not_a_repository"


class UnknownRefError(GitError):
    """The error that is raised when a ref names no commit of the repository."""

    code = "unknown_ref"


class UnknownFileError(GitError):
    """The error that is raised when a file exists neither now nor in the commit to compare with."""

    code = "not_found"


class ChangeStatus(StrEnum):
    ADDED = "ADDED"
    UPDATED = "UPDATED"
    DELETED = "DELETED"
    MOVED = "MOVED"


@dataclass(frozen=True)
class Change:
    """A changed file. `path`: relative to the repository. `old_path`: the earlier path of a moved file."""

    status: ChangeStatus
    path: str
    old_path: str | None = None


@dataclass(frozen=True)
class FileDiff:
    """The content of one file before and after a change. None means that the file does not exist. For a
    binary or large file, the content is one line with the kind of file, its size and its SHA-256.
    """

    original: str | None
    modified: str | None


@dataclass(frozen=True)
class Commit:
    """A commit of a git repository. `timestamp`: the time of the commit, ISO 8601."""

    sha: str
    short_sha: str
    subject: str
    author: str
    timestamp: str


async def changes(repository: Path, ref: str | None = None) -> list[Change]:
    """Returns all files that differ from the commit `ref`, sorted by path. Without `ref`, compares with the
    commit where the branch forked from its upstream or the default branch.
    """
    top = await top_level(repository)
    base = await base_of(top, ref)
    return await _changes(top, base)


async def diff(file: Path, ref: str | None = None) -> FileDiff:
    """Returns the content of `file` in the commit `ref`, and its present content. Without `ref`, the commit
    is the one where the branch forked from its upstream or the default branch. For a renamed file, reads the
    old content under the old name.
    """
    top = await top_level(_nearest_directory(file))
    base = await base_of(top, ref)
    name = _name_in(top, file)
    original = await _content_at(top, base, name)
    modified = await asyncio.to_thread(_content_now, file)
    if original is None and modified is not None:
        moves = {change.path: change.old_path for change in await _changes(top, base)}
        if old_name := moves.get(name):
            original = await _content_at(top, base, old_name)
    if original is None and modified is None:
        raise UnknownFileError(f"{name} exists neither in the work tree nor in {ref or 'the base'}.")
    return FileDiff(_text_for_diff(original), _text_for_diff(modified))


async def commits(repository: Path, limit: int) -> tuple[list[Commit], bool]:
    """Returns the last `limit` commits of the current branch, newest first, and whether there are more."""
    top = await top_level(repository)
    if await _commit(top, "HEAD") is None:
        return [], False
    fields = "%H%x00%h%x00%s%x00%an%x00%cI"
    output = await run_git(
        top, "log", "-z", f"--max-count={limit + 1}", f"--format=tformat:{fields}", "HEAD", "--"
    )
    values = os.fsdecode(output).split("\0")[:-1]
    found = [Commit(*values[at : at + 5]) for at in range(0, len(values), 5)]
    return found[:limit], len(found) > limit


async def commit_changes(repository: Path, sha: str) -> list[Change]:
    """Returns the changes of a commit compared with its first parent."""
    top = await top_level(repository)
    commit = await _known_commit(top, sha)
    output = await run_git(top, *_DIFF, "--name-status", "-z", await _parent_of(top, commit), commit, "--")
    return sorted(parse_name_status(output), key=lambda change: change.path)


async def commit_diff(file: Path, sha: str) -> FileDiff:
    """Returns the content of `file` before and after a commit. If the commit renamed the file, the old
    content is that of the file with the old name.
    """
    top = await top_level(_nearest_directory(file))
    commit = await _known_commit(top, sha)
    name = _name_in(top, file)
    moves = {change.path: change.old_path for change in await commit_changes(top, commit)}
    original = await _content_at(top, await _parent_of(top, commit), moves.get(name) or name)
    modified = await _content_at(top, commit, name)
    if original is None and modified is None:
        raise UnknownFileError(f"{name} exists neither in {sha} nor before it.")
    return FileDiff(_text_for_diff(original), _text_for_diff(modified))


async def patch(repository: Path, base_ref: str | None = None) -> bytes:
    """Returns all changes since `base_ref` as a patch for `git apply`, with untracked and binary files.
    Without `base_ref`, returns the changes since the branch forked from its upstream or the default branch.
    """
    top = await top_level(repository)
    base = await base_of(top, base_ref)
    prefixes = ("--src-prefix=a/", "--dst-prefix=b/")
    async with _index_with_untracked(top) as own:
        return await run_git(top, *_DIFF, "--binary", "--full-index", *prefixes, base, "--", own=own)


async def version() -> tuple[int, ...]:
    """Returns the first two numbers of git's version, such as (2, 39). Raises GitError if git is missing."""
    printed = (await run_git(Path("/"), "--version")).decode(errors="replace")
    found = re.search(r"(\d+)\.(\d+)", printed)
    if found is None:
        raise GitError(f"The version of git is unknown: {printed.strip()}")
    return int(found[1]), int(found[2])


async def top_level(path: Path) -> Path:
    """Returns the top directory of the git work tree that contains the directory `path`. Raises
    NotARepositoryError if there is none.
    """
    try:
        return Path(os.fsdecode(await run_git(path, "rev-parse", "--show-toplevel")).removesuffix("\n"))
    except GitError as error:
        if "not a git repository" in str(error) or "must be run in a work tree" in str(error):
            raise NotARepositoryError(f"{path} is not in a git repository.") from error
        raise


async def base_of(repository: Path, ref: str | None) -> str:
    """Returns the id of the git object with which the present files of the repository are compared.

    This is the commit of `ref`. Without `ref`, it is the commit where HEAD forked from its upstream or
    origin's default branch. If there is none, it is HEAD, or the empty tree before the first commit.
    """
    if ref is not None:
        return await _known_commit(repository, ref)
    head = await _commit(repository, "HEAD")
    if head is None:
        return await _empty_tree(repository)
    for candidate in ("@{upstream}", *(f"refs/remotes/origin/{name}" for name in ("HEAD", "main", "master"))):
        if (other := await _commit(repository, candidate)) and (
            base := await _answer(repository, "merge-base", head, other)
        ):
            return base
    return head


async def default_branch(repository: Path) -> str:
    """Returns a ref of the default branch. This is `refs/remotes/origin/HEAD`, as last fetched. If there is
    no such ref, it is the full ref of origin's `main` or `master`, or of the local `main` or `master`;
    otherwise `HEAD`.
    """
    for name in ("remotes/origin/HEAD", *_USUAL_DEFAULTS):
        if await _commit(repository, f"refs/{name}"):
            return f"refs/{name}"
    return "HEAD"


async def _known_commit(top: Path, sha: str) -> str:
    if commit := await _commit(top, sha):
        return commit
    raise UnknownRefError(f"{sha!r} names no commit of this repository.")


async def _parent_of(top: Path, commit: str) -> str:
    """Returns the hash of the commit's first parent, or of the empty tree if it has no parent."""
    return await _commit(top, f"{commit}^") or await _empty_tree(top)


async def _empty_tree(top: Path) -> str:
    return (await run_git(top, "hash-object", "-t", "tree", "--stdin")).decode().strip()


def _name_in(top: Path, file: Path) -> str:
    return str(file.parent.resolve().joinpath(file.name).relative_to(top))


async def _changes(top: Path, base: str) -> list[Change]:
    async with _index_with_untracked(top) as own:
        output = await run_git(top, *_DIFF, "--name-status", "-z", base, "--", own=own)
    return sorted(parse_name_status(output), key=lambda change: change.path)


def parse_name_status(output: bytes) -> list[Change]:
    """Parses the output of git with `--name-status -z` and returns the changes that this output lists."""
    fields = iter(os.fsdecode(output).split("\0")[:-1])
    found: dict[str, Change] = {}
    for letter in fields:
        path = next(fields)
        match letter[0]:
            case "R":
                change = Change(ChangeStatus.MOVED, next(fields), old_path=path)
            case "A" | "C":
                change = Change(ChangeStatus.ADDED, path if letter[0] == "A" else next(fields))
            case "D":
                change = Change(ChangeStatus.DELETED, path)
            case _:  # modified, type changed, unmerged
                change = Change(ChangeStatus.UPDATED, path)
        found.setdefault(change.path, change)
    return list(found.values())


@asynccontextmanager
async def _index_with_untracked(top: Path) -> AsyncIterator[Mapping[str, str]]:
    """Yields environment variables for git commands. They make git use a temporary copy of the index, which
    also has entries for the untracked files. So git compares these files, too. They also make git write new
    objects to a temporary directory, so the repository does not change.
    """
    directory = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="slipway-index-"))
    try:
        index, objects = await _git_path(top, "index"), await _git_path(top, "objects")
        if index.exists():
            await asyncio.to_thread(shutil.copy2, index, directory / "index")
        (directory / "objects").mkdir()
        own = {
            "GIT_INDEX_FILE": str(directory / "index"),
            "GIT_OBJECT_DIRECTORY": str(directory / "objects"),
            # Quoted, since a colon would separate two directories.
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": '"' + re.sub(r'(["\\])', r"\\\1", str(objects)) + '"',
        }
        await _add_untracked(top, own)
        yield own
    finally:
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)


async def _git_path(top: Path, name: str) -> Path:
    return top / os.fsdecode(await run_git(top, "rev-parse", "--git-path", name)).removesuffix("\n")


async def _add_untracked(top: Path, own: Mapping[str, str]) -> None:
    for attempt in range(_ATTEMPTS):
        names = await run_git(top, "ls-files", "--others", "--exclude-standard", "-z", own=own)
        # A name that ends in a slash is a repository inside this one. It has a separate history.
        files = [name for name in names.split(b"\0") if name and not name.endswith(b"/")]
        if not files:
            return
        try:
            await run_git(
                top, "add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul",
                own=own, stdin=b"\0".join(files),
            )  # fmt: skip
        except GitError:
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            return


async def _content_at(top: Path, base: str, name: str) -> bytes | None:
    listed = await run_git(top, "ls-tree", "-z", base, "--", name)
    if not listed or b" blob " not in listed.split(b"\t")[0]:
        return None
    return await run_git(top, "cat-file", "blob", listed.split(b"\t")[0].split()[2].decode())


def _content_now(file: Path) -> bytes | None:
    if file.is_symlink():
        return os.fsencode(file.readlink())  # as git sees it
    return file.read_bytes() if file.is_file() else None


def _text_for_diff(content: bytes | None) -> str | None:
    if content is None:
        return None
    if len(content) > MAX_SHOWN_BYTES or b"\0" in content[:8192]:
        kind = "Large" if len(content) > MAX_SHOWN_BYTES else "Binary"
        return f"{kind} file, {len(content):,} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}\n"
    return content.decode("utf-8", "replace")


def _nearest_directory(path: Path) -> Path:
    return next(parent for parent in path.parents if parent.is_dir())


async def _commit(repository: Path, ref: str) -> str | None:
    if "\0" in ref:
        return None
    return await _answer(
        repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"
    )


async def _answer(repository: Path, *arguments: str) -> str | None:
    try:
        return (await run_git(repository, *arguments)).decode().strip() or None
    except GitError:
        return None


async def run_git(
    directory: Path,
    *arguments: str,
    own: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    answers: Collection[int] = (0,),
    max_output_bytes: int | None = None,
) -> bytes:
    """Runs git in `directory` and returns its standard output. `own`: additional environment variables.
    `stdin`: the input of git. `answers`: the exit codes that mean success; any other exit code raises
    GitError. `max_output_bytes`: output after this number of bytes is dropped; None means no limit.
    """
    try:
        done = await run_program(
            "git",
            *_OPTIONS,
            *arguments,
            cwd=directory,
            environment=command_environment({**_ENVIRONMENT, **(own or {})}),
            timeout_seconds=TIMEOUT_SECONDS,
            stdin=stdin,
            max_output_bytes=max_output_bytes,
        )
    except TimeoutError as error:
        raise GitError(f"git {arguments[0]} did not end within {TIMEOUT_SECONDS:.0f} seconds.") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        if shutil.which("git") is None:
            raise GitError("git is not installed in this sandbox.") from error
        raise NotARepositoryError(f"{directory} is not a directory.") from error
    if done.exit_code not in answers:
        raise GitError(done.stderr.decode("utf-8", "replace").strip() or f"git {arguments[0]} failed.")
    return done.stdout
