"""Describes the git state of the workspace in the agent's prompt: the last commit, the upstream branch and
the changed files.

The git state is read once, when a conversation is created, because the prompt must not change later. Names
and commit messages come from the repository and could contain instructions to the model. Therefore they are
shortened and quoted, and changed files with blanks in their names are only counted.
"""

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import orjson
from pydantic import BaseModel, ConfigDict

from agent_runtime.time_limits import time_limit
from agent_runtime.workspace.git import GitError, run_git

MAX_FILES = 20
LIMIT_SECONDS = 5.0
MAX_OUTPUT_BYTES = 1024**2
_MAX_SUBJECT = 100
_FILE = re.compile(r"[\w./@+=~#%,()\[\]{}$!-]{1,150}")
_UPSTREAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+@-]{0,119}")
_SHORT = 12
# `git status` describes a changed file, a moved one, one in conflict, and an unknown one with so many fields
# before its path.
_FIELDS = {"1": 8, "2": 9, "u": 10, "?": 1}


class GitState(BaseModel):
    """The git state of a repository: its last commit, upstream branch and changed files.

    `commit`: the beginning of the last commit's hash; empty before the first commit. `subject`: the first
    line of the commit message, in quotes. `upstream`: the upstream branch; empty if there is none. `ahead`:
    the number of commits that only the local branch has. `behind`: the number of commits that only the
    upstream branch has. `files`: the first changed files, each with its status letters from `git status`.
    `count`: the number of changed files that git listed; None if git was too slow. `is_more`: whether git's
    output was cut off, so that there are more changed files than `count`.
    """

    model_config = ConfigDict(frozen=True)

    commit: str = ""
    subject: str = ""
    upstream: str = ""
    ahead: int = 0
    behind: int = 0
    files: tuple[str, ...] = ()
    count: int | None = None
    is_more: bool = False

    @property
    def lines(self) -> list[str]:
        """Returns the git state as lines of text for the prompt."""
        changed = list(self._changed())
        return [*([f"Last commit: {self.commit} {self.subject}"] if self.commit else ()), *changed]

    def _changed(self) -> Iterator[str]:
        if self.upstream:
            yield f"Compared with {self.upstream}: {self.ahead} ahead, {self.behind} behind"
        if self.count is None:
            yield f"Changed files: not known, because git needs more than {LIMIT_SECONDS:.0f} seconds"
        elif not self.count:
            yield "Changed files: none"
        else:
            further = self.count - len(self.files)
            count = f"more than {self.count}" if self.is_more else str(self.count)
            more = f"; {further}{' or more' if self.is_more else ''} not named" if further else ""
            yield f"Changed files, {count} as in `git status --short`: {', '.join(self.files)}{more}"


async def git_state(working_dir: Path) -> GitState | None:
    """Returns the git state of the repository that contains `working_dir`. Returns None if there is no
    repository, or if git cannot read the repository.
    """
    try:
        if not any((each / ".git").exists() for each in (working_dir, *working_dir.parents)):
            return None
        last = await _answer(working_dir, "log", "-1", "--format=%H%x00%s", answers=(0, 128))
        status = await _answer(
            working_dir, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal"
        )
    except (GitError, OSError):  # for example a path that is too long
        return None
    commit, _, subject = (last or b"").partition(b"\0")
    state = GitState(commit=commit.decode()[:_SHORT], subject=_quoted(subject) if commit else "")
    return state if status is None else _with_status(state, status)


async def _answer(working_dir: Path, *arguments: str, answers: Collection[int] = (0,)) -> bytes | None:
    """Runs git with these arguments in `working_dir` and returns git's output. `answers`: the exit codes that
    mean success. Returns None if git takes too long. Raises GitError if git ends with any other exit code.
    """
    try:
        async with time_limit(LIMIT_SECONDS):
            return await run_git(working_dir, *arguments, answers=answers, max_output_bytes=MAX_OUTPUT_BYTES)
    except TimeoutError:
        return None


def _quoted(subject: bytes) -> str:
    line = "".join(one if one.isprintable() else " " for one in subject.decode("utf-8", "replace").strip())
    cut = f"{line[:_MAX_SUBJECT]}…" if len(line) > _MAX_SUBJECT else line
    return orjson.dumps(cut).decode()


def _with_status(state: GitState, status: bytes) -> GitState:
    entries = os.fsdecode(status).split("\0")
    # The last one is empty, or cut off with the output.
    is_more = bool(entries.pop()) or len(status) >= MAX_OUTPUT_BYTES
    found: dict[str, object] = {}
    changed: list[str] = []
    rest = iter(entries)
    for entry in rest:
        kind, _, text = entry.partition(" ")
        if kind == "#":
            found |= _header(text)
        elif kind in _FIELDS:
            changed.append(_line(kind, text))
        if kind == "2":
            next(rest, None)  # the earlier path
    named = tuple(line for line in changed if line)[:MAX_FILES]
    return state.model_copy(update={**found, "files": named, "count": len(changed), "is_more": is_more})


def _header(text: str) -> dict[str, object]:
    name, _, value = text.partition(" ")
    if name == "branch.upstream" and _UPSTREAM.fullmatch(value):
        return {"upstream": value}
    if name == "branch.ab":
        ahead, _, behind = value.partition(" ")
        return {"ahead": int(ahead), "behind": -int(behind)}
    return {}


def _line(kind: str, text: str) -> str:
    """Returns the line of the prompt that shows a changed file: the file's status letters and its path.
    Returns an empty text if the path contains characters that are not allowed in the prompt.

    `kind`, `text`: one entry in the output of `git status`, divided at its first space.
    """
    fields = text.split(" ", _FIELDS[kind] - 1)
    path = fields[-1]
    letters = "??" if kind == "?" else fields[0].replace(".", " ").strip()
    return f"{letters} {path}" if _FILE.fullmatch(path) else ""
