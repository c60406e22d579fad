"""Collects facts about the agent's machine and workspace for the prompt: date, operating system, shell, git
state, and the project's commands.

The facts are added to the prompt once, at the beginning of a conversation, and the event log stores the text.
If the prompt changed with the time or with each commit, the vendor's prompt cache could not be used. Names
that come from the repository are checked, because they could contain instructions to the model. This module
only reads files; the module git_state runs git.
"""

import platform
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from agent_runtime.context.git_state import GitState
from agent_runtime.workspace.environment import bash_path
from agent_runtime.workspace.front_matter import UnusableFileError, read_text

MAX_COMMANDS = 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9:._-]{0,39}")
_BRANCH = re.compile(r"ref: refs/heads/([A-Za-z0-9][A-Za-z0-9._/+@-]{0,119})")
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_TARGET = re.compile(r"^([A-Za-z0-9][A-Za-z0-9:._-]{0,39})\s*:(?!=)", re.MULTILINE)
_RECIPE = re.compile(r"^@?([A-Za-z0-9][A-Za-z0-9_-]{0,39})(?:[ \t][^:=\n]*)?:(?!=)", re.MULTILINE)
_SYSTEM_NAME = re.compile(r'^PRETTY_NAME="?([A-Za-z0-9 ./()_-]{1,80})"?$', re.MULTILINE)
_PACKAGE_MANAGERS = (
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
)
_UNDER_WAY = (("MERGE_HEAD", "a merge"), ("rebase-merge", "a rebase"), ("rebase-apply", "a rebase"))


@dataclass(frozen=True)
class Surroundings:
    """The facts about the agent's machine and workspace that the prompt contains.

    `date`: the current date as YYYY-MM-DD in UTC. `system`: the operating system. `shell`: the shell that
    runs the agent's commands. `git`: one line about the repository; empty if there is no repository.
    `git_state`: lines about the last commit, the upstream branch and the changed files. `commands`: commands
    that the project's files define, at most MAX_COMMANDS.
    """

    date: str
    system: str
    shell: str
    git: str
    git_state: Sequence[str]
    commands: Sequence[str]


def surroundings(working_dir: Path, state: GitState | None = None) -> Surroundings:
    """Returns the facts about the machine and the workspace `working_dir`: date, operating system, shell, git
    state and the project's commands. `state`: the git state (commit, branch and changed files) at the
    creation of the conversation; None if there is no repository, or if git could not read the repository.
    """
    git = _git(working_dir)
    return Surroundings(
        date=datetime.now(UTC).date().isoformat(),
        system=_system(),
        shell=bash_path(),
        git=git,
        git_state=state.lines if git and state else [],
        commands=list(dict.fromkeys(_commands(working_dir)))[:MAX_COMMANDS],
    )


def _system() -> str:
    named = _SYSTEM_NAME.search(_text(Path("/etc/os-release"), Path("/")))
    kernel = f"{platform.system()} {platform.machine()}"
    return f"{named[1].strip()} ({kernel})" if named else kernel


def _git(working_dir: Path) -> str:
    root = next((each for each in (working_dir, *working_dir.parents) if (each / ".git").exists()), None)
    if root is None:
        return ""
    directory = root / ".git"
    if directory.is_file():
        # This is a work tree: its `.git` is a file with the path of the git directory.
        git_dir_path = _text(directory, root).removeprefix("gitdir:").strip()
        directory = root / git_dir_path
    head = _text(directory / "HEAD", directory)
    where = "" if root == working_dir else f"repository at {root}, "
    under_way = next((f", {what} under way" for name, what in _UNDER_WAY if (directory / name).exists()), "")
    if branch := _BRANCH.fullmatch(head):
        return f"{where}branch {branch[1]}{under_way}"
    return f"{where}detached at {head[:12]}{under_way}" if _COMMIT.fullmatch(head) else ""


def _commands(working_dir: Path) -> Iterator[str]:
    makefile = next(
        (name for name in ("GNUmakefile", "makefile", "Makefile") if (working_dir / name).is_file()), ""
    )
    if makefile:
        yield from (f"make {name}" for name in _TARGET.findall(_text(working_dir / makefile, working_dir)))
    justfile = next((name for name in ("justfile", "Justfile") if (working_dir / name).is_file()), "")
    if justfile:
        yield from (f"just {name}" for name in _RECIPE.findall(_text(working_dir / justfile, working_dir)))
    runner = next((name for lock, name in _PACKAGE_MANAGERS if (working_dir / lock).is_file()), "npm")
    yield from (f"{runner} run {name}" for name in _scripts(working_dir))
    yield from (command for file, command in _USUAL if (working_dir / file).is_file())


_USUAL = (
    ("pytest.ini", "pytest"),
    ("conftest.py", "pytest"),
    ("tox.ini", "tox"),
    ("noxfile.py", "nox"),
    ("Cargo.toml", "cargo test"),
    ("go.mod", "go test ./..."),
    ("pom.xml", "mvn test"),
    ("gradlew", "./gradlew test"),
)


def _scripts(working_dir: Path) -> list[str]:
    try:
        package: Any = orjson.loads(_text(working_dir / "package.json", working_dir) or "{}")
    except orjson.JSONDecodeError:
        return []
    scripts = package.get("scripts") if isinstance(package, dict) else None
    return [name for name in scripts if _NAME.fullmatch(name)] if isinstance(scripts, dict) else []


def _text(path: Path, root: Path) -> str:
    try:
        return read_text(path, root)
    except (OSError, UnusableFileError):
        return ""
