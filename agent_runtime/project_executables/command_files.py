"""Collects the files of a project that a command names, with their hashes.

Which files a command runs cannot be known in advance. So this module collects the files that the command
names. If such a file is a shell script, the module also collects the files that the script names. An edit of
a collected file counts as an edit of the command.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

from agent_runtime.wire import ExecutableFile
from agent_runtime.workspace.front_matter import is_utf8

MAX_FILE_BYTES = 5 * 1024 * 1024
MAX_SHOWN_BYTES = 256 * 1024
MAX_FILES = 300
MAX_TEXT_BYTES = 1024 * 1024
_MAX_DIRECTORIES = 16

_WORD = re.compile(r"[\w@%+./-]+")
_SHELL = re.compile(r"#!.*\b(?:ba|da|k|z)?sh\b")


class UnreadableExecutableError(Exception):
    """The error that is raised when a project executable (a hook, an MCP server and so on) cannot be shown to
    the user in full, so that the user cannot consent to it. The text says why.
    """


class Files:
    """A collection of the files that belong to one executable of a project (a hook, an MCP server and so on),
    with the hash of each file.
    """

    def __init__(self, project: Path) -> None:
        self._project = project.resolve()
        self._files: dict[str, ExecutableFile] = {}
        self._shown_bytes = 0

    def listed(self) -> list[ExecutableFile]:
        return [self._files[path] for path in sorted(self._files)]

    def add(self, file: Path) -> bytes:
        """Adds a file of the project to this collection and returns the file's content. Raises
        UnreadableExecutableError if the file cannot be shown to the user in full or lies outside the project,
        or if the collection has too many files.
        """
        path = str(file.relative_to(self._project))
        if not is_utf8(path) or not path.isprintable() or "\\" in path:
            raise UnreadableExecutableError("One of its files has a name that cannot be shown.")
        if not file.resolve().is_relative_to(self._project):
            raise UnreadableExecutableError(f"{path} is a link that leads out of the repository.")
        content = _content(file, path)
        if path not in self._files:
            self._files[path] = self._as_executable_file(path, content)
            if len(self._files) > MAX_FILES:
                raise UnreadableExecutableError(f"It consists of more than {MAX_FILES} files.")
        return content

    def add_with_named(self, own: Iterable[Path], commands: Iterable[str]) -> None:
        """Adds the files of an executable to this collection. `own`: the files that are part of the
        executable itself; they are always added. `commands`: the texts of the commands that the executable
        runs; each file of the project whose path is written in such a text is added, too.

        If one of these files is a shell script, the files of the project that the script names are also
        added.
        """
        waiting = [(command, self._project) for command in commands]
        for file in own:
            waiting += self._commands_in(file)
        seen: set[Path] = set()
        while waiting:
            text, here = waiting.pop()
            for file in _files_named(text, [self._project, here]):
                if file not in seen and file.resolve().is_relative_to(self._project):
                    seen.add(file)
                    waiting += self._commands_in(file)

    def _commands_in(self, file: Path) -> list[tuple[str, Path]]:
        script = self.add(file).decode(errors="replace")
        is_shell = file.suffix in {".sh", ".bash"} or _SHELL.match(script)
        return [(script, file.parent)] if is_shell else []

    def _as_executable_file(self, path: str, content: bytes) -> ExecutableFile:
        text = _text(content)
        self._shown_bytes += len(content) if text is not None else 0
        if self._shown_bytes > MAX_TEXT_BYTES:
            raise UnreadableExecutableError("Its files together are too long to be reviewed.")
        sha256 = hashlib.sha256(content).hexdigest()
        return ExecutableFile(path=path, sha256=sha256, size=len(content), text=text)


def _files_named(text: str, directories: list[Path]) -> Iterator[Path]:
    words = list(dict.fromkeys(word for word in _WORD.findall(text) if word.strip("./")))
    # Commands may change to a directory, or get a directory as an argument.
    entered = [path for path in _below(words, directories) if path.is_dir()][:_MAX_DIRECTORIES]
    modules = [f"{word.replace('.', '/')}.py" for word in words if "/" not in word]
    for path in _below([*words, *modules], [*directories, *entered]):
        if path.is_file() and ".git" not in path.parts:
            yield path


def _below(words: Iterable[str], directories: Iterable[Path]) -> Iterator[Path]:
    # A word that begins with a slash may follow a variable: `$CLAUDE_PROJECT_DIR/check.sh`.
    for directory, word in product(directories, words):
        path = directory.joinpath(*(part for part in word.split("/") if part not in {"", "."}))
        if ".." not in path.parts and _exists(path):
            yield path


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # longer than a name may be
        return False


def _content(file: Path, path: str) -> bytes:
    if not file.is_file():  # a pipe would keep us waiting for ever
        raise UnreadableExecutableError(f"{path} is not a file.")
    try:
        if file.stat().st_size > MAX_FILE_BYTES:
            raise UnreadableExecutableError(f"{path} is larger than {MAX_FILE_BYTES // 1024**2} MiB.")
        return file.read_bytes()
    except OSError as error:
        raise UnreadableExecutableError(f"{path} cannot be read: {error.strerror}.") from error


def _text(content: bytes) -> str | None:
    if len(content) > MAX_SHOWN_BYTES or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
