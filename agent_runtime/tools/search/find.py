"""Finds files for `glob` and `grep`, with ripgrep or, if it is not installed, with `scan.py`."""

import asyncio
import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_runtime.tools.search import scan
from agent_runtime.workspace.environment import command_environment
from agent_runtime.workspace.processes import run_program

TIMEOUT_SECONDS = 30.0
MAX_FILES = 100
MAX_LINES_PER_FILE = 30
_FOUND_LINE = re.compile(r"([^\0]+)\0(\d+)([:-])(.*)", re.DOTALL)
# Only .gitignore files decide what is ignored, inside and outside of repositories. The user's own settings
# for ripgrep and git have no effect.
_RIPGREP_OPTIONS = (
    "--no-config", "--no-messages", "--color=never", "--null",
    "--hidden", "--glob=!.git",
    "--no-require-git", "--no-ignore-dot", "--no-ignore-global", "--no-ignore-exclude",
)  # fmt: skip
# Globs that ripgrep can apply itself. All others are applied to its result.
_PLAIN_INCLUDE = re.compile(r"[\w.*?{},\[\]-]+")


class SearchError(Exception):
    """The error that is raised when a search in files is not possible. The text tells the model why and what
    to do instead.
    """


@dataclass(frozen=True)
class FoundFiles:
    """The result of a search for files. `files`: the absolute paths of at most MAX_FILES found files, the
    file with the newest change first. `total`: the number of all found files, including those that are not in
    `files` because there are too many.
    """

    files: list[str]
    total: int

    @property
    def is_truncated(self) -> bool:
        return self.total > len(self.files)


@dataclass(frozen=True)
class FoundLine:
    """A line that a search in files has found. `file`: the path relative to the searched directory.
    `is_match`: False for a line that is only near a matching line.
    """

    file: str
    number: int
    text: str
    is_match: bool


async def find_files(pattern: str, directory: Path) -> FoundFiles:
    """Returns the files below `directory` whose path matches the glob `pattern`.

    A glob without a slash matches file names at any depth.
    """
    if ripgrep := _ripgrep():
        command = [ripgrep, *_RIPGREP_OPTIONS, "--files", "."]
    else:
        command = [*_own_program(), "list"]
    return await _newest(directory, await _run(command, directory), pattern)


async def find_matches(pattern: str, target: Path, include: str | None) -> FoundFiles:
    """Returns the files at or below `target` that contain a match of the regular expression `pattern`.

    `include`: a glob that the files must match, too; None means all files.
    """
    is_directory = await asyncio.to_thread(target.is_dir)
    directory, name = (target, ".") if is_directory else (target.parent, f"./{target.name}")
    if ripgrep := _ripgrep():
        command = [ripgrep, *_RIPGREP_OPTIONS, "--files-with-matches", "--engine=auto"]
        if _is_multiline(pattern):
            command.append("--multiline")
        if include and _PLAIN_INCLUDE.fullmatch(include):
            command += ["--type-add", f"included:{include}", "--type", "included"]
        command += ["--regexp", pattern, "--", name]
    else:
        command = [*_own_program(), "grep", pattern, name]
    return await _newest(directory, await _run(command, directory), include)


async def find_lines(pattern: str, target: Path, files: Sequence[str], context: int) -> list[FoundLine]:
    """Returns the lines of the given files that match the regular expression `pattern`, and `context` lines
    before and after each. The result has the order of `files`.

    `files`: absolute paths at or below `target`. Returns at most MAX_LINES_PER_FILE matching lines of each
    file.
    """
    directory = target if await asyncio.to_thread(target.is_dir) else target.parent
    names = [f"./{Path(file).relative_to(directory)}" for file in files]
    if ripgrep := _ripgrep():
        command = [
            ripgrep,
            *_RIPGREP_OPTIONS,
            "--engine=auto",
            "--line-number",
            "--with-filename",
            "--no-heading",
        ]
        command += ["--max-columns=2000", "--max-columns-preview"]
        command += [f"--context={context}", f"--max-count={MAX_LINES_PER_FILE}"]
        if _is_multiline(pattern):
            command.append("--multiline")
        command += ["--regexp", pattern, "--", *names]
    else:
        command = [*_own_program(), "lines", pattern, str(context), str(MAX_LINES_PER_FILE), *names]
    found = parse_lines((await _output(command, directory)).decode("utf-8", "replace"))
    order = {name.removeprefix("./"): index for index, name in enumerate(names)}
    # Python sorts stably: the lines of a file stay in order.
    return sorted(found, key=lambda line: order.get(line.file, len(order)))


def parse_lines(output: str) -> list[FoundLine]:
    """Parses ripgrep's output and returns the lines that ripgrep has found. Ignores each output line that
    does not consist of a file name, a NUL, a line number and a text.
    """
    found = (_FOUND_LINE.match(line) for line in output.split("\n"))
    return [
        FoundLine(one[1].removeprefix("./"), int(one[2]), one[4].removesuffix("\r"), one[3] == ":")
        for one in found
        if one
    ]


def existing(given: str | None, working_dir: Path) -> Path:
    """Returns the path of the file or directory to search. `given`: absolute, or relative to the working
    directory; None means the working directory. Raises SearchError if nothing exists at this path.
    """
    try:
        path = Path(os.path.normpath(working_dir / (given or "")))
        if path.exists():
            return path
    except (OSError, ValueError) as error:
        raise SearchError(f"{given!r} is not a path.") from error
    raise SearchError(f"There is nothing at {path}. Give an existing directory, or leave `path` out.")


async def _run(command: list[str], directory: Path) -> list[bytes]:
    return (await _output(command, directory)).split(b"\0")[:-1]


async def _output(command: list[str], directory: Path) -> bytes:
    try:
        done = await run_program(
            *command, cwd=directory, environment=command_environment(), timeout_seconds=TIMEOUT_SECONDS
        )
    except TimeoutError as error:
        raise SearchError(
            f"The search was stopped after {TIMEOUT_SECONDS:g} seconds. "
            "Give a directory further down, or a simpler pattern."
        ) from error
    except (OSError, ValueError) as error:  # a directory that may not be entered, a NUL in the pattern
        raise SearchError(f"The search failed: {error}.") from error
    if done.exit_code > 1 and (reason := done.stderr.decode(errors="replace").strip()):
        raise SearchError(f"The search failed:\n{reason}")
    return done.stdout


async def _newest(directory: Path, names: list[bytes], pattern: str | None) -> FoundFiles:
    return await asyncio.to_thread(_choose, bytes(directory), names, pattern)


def _choose(directory: bytes, names: list[bytes], pattern: str | None) -> FoundFiles:
    plain = [name.removeprefix(b"./") for name in names]
    if pattern is not None:
        regex = _compile(pattern)
        plain = [name for name in plain if regex.fullmatch(name.decode("utf-8", "replace"))]
    paths = [directory + b"/" + name for name in plain]
    dated = [(-changed, path) for path in paths if (changed := _changed(path)) is not None]
    newest = [path.decode("utf-8", "replace") for _, path in sorted(dated)[:MAX_FILES]]
    return FoundFiles(newest, len(dated))


def _compile(pattern: str) -> re.Pattern[str]:
    full_pattern = pattern.removeprefix("./") if "/" in pattern else f"**/{pattern}"
    try:
        return re.compile(scan.glob_regex(full_pattern))
    except re.error as error:
        raise SearchError(f"{pattern!r} is not a glob pattern: {error}.") from error


def _changed(path: bytes) -> int | None:
    """Returns the time of the file's last change in nanoseconds. Returns None if the file does not exist any
    more.
    """
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return None


def _is_multiline(pattern: str) -> bool:
    return "\n" in pattern or "\\n" in pattern


def _ripgrep() -> str | None:
    return shutil.which("rg", path=command_environment()["PATH"])


def _own_program() -> list[str]:
    return [sys.executable, "-I", str(Path(scan.__file__))]
