"""A workspace in a directory of this machine."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from agent_runtime.client.errors import WorkspaceError
from agent_runtime.client.loop_thread import run_sync
from agent_runtime.client.workspace import CommandResult, FileOperationResult, GitChange, GitDiff
from agent_runtime.project_executables.discover import find_executables
from agent_runtime.wire import ProjectExecutable
from agent_runtime.workspace import git
from agent_runtime.workspace.environment import bash_path, command_environment
from agent_runtime.workspace.local import replacing
from agent_runtime.workspace.processes import run_program

# Into files: a background job that keeps a pipe open would make us wait for its end.
_INTO_FILES = 'exec >"$1" 2>"$2"; eval "$3"'


class LocalWorkspace:
    """A workspace in a directory of this machine. The directory is created if it does not exist. Agents in
    this workspace run commands as the user who started the program, without any sandbox.
    """

    alive = True

    def __init__(self, working_dir: str | Path) -> None:
        path = Path(working_dir).expanduser().absolute()
        with _os_errors():
            path.mkdir(parents=True, exist_ok=True)
        self.working_dir = str(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def execute_command(
        self, command: str, cwd: str | Path | None = None, timeout: float = 30.0
    ) -> CommandResult:
        """Runs a bash command and waits for its end. If the command runs longer than `timeout` seconds, it is
        ended and `exit_code` is -1.
        """
        directory = self._path(cwd or ".")
        if not directory.is_dir():
            raise WorkspaceError("directory_not_found", "The directory `cwd` does not exist.")
        with tempfile.TemporaryDirectory(prefix="slipway-command-") as name:
            stdout, stderr = Path(name, "stdout"), Path(name, "stderr")
            work = run_program(
                bash_path(), "--noprofile", "--norc", "-c", _INTO_FILES, "bash", stdout, stderr, command,
                cwd=directory, environment=command_environment(), timeout_seconds=timeout,
            )  # fmt: skip
            try:
                exit_code = run_sync(work).exit_code
            except TimeoutError:
                exit_code = -1
            return CommandResult(
                command,
                exit_code if exit_code >= -1 else 128 - exit_code,
                stdout.read_text(errors="replace"),
                stderr.read_text(errors="replace"),
            )

    def file_upload(self, source_path: str | Path, destination_path: str | Path) -> FileOperationResult:
        """Copies a file of this machine to a path in the workspace, and creates the missing directories of
        `destination_path`.
        """
        return _copy(Path(source_path), self._path(destination_path))

    def file_download(self, source_path: str | Path, destination_path: str | Path) -> FileOperationResult:
        """Copies a file of the workspace to another path, and creates the missing directories of
        `destination_path`.
        """
        return _copy(self._path(source_path), Path(destination_path))

    def git_changes(self, path: str | Path = ".", ref: str | None = None) -> list[GitChange]:
        """Returns the files that differ from the commit `ref`. `path`: a directory of the repository.

        If `ref` is None, compares with the last commit that the current branch shares with its upstream
        branch. Without an upstream branch, uses the default branch of `origin`. If this is missing, too,
        compares with the current branch's last commit.
        """
        with _git_errors():
            found = run_sync(git.changes(self._path(path), ref))
        return [GitChange(change.status, change.path) for change in found]

    def git_diff(self, path: str | Path, ref: str | None = None) -> GitDiff:
        with _git_errors():
            found = run_sync(git.diff(self._path(path), ref))
        return GitDiff(found.original, found.modified)

    def executables(self) -> list[ProjectExecutable]:
        """Returns the executables of the project: scripts, hooks, MCP servers and plugins that run only if
        the user consents. This method only reads files.
        """
        return find_executables(Path(self.working_dir))

    def close(self) -> None:
        """Does nothing, because a local workspace holds no resources."""

    def _path(self, path: str | Path) -> Path:
        return Path(self.working_dir, path)


def _copy(source: Path, target: Path) -> FileOperationResult:
    with _os_errors(), source.open("rb") as original, replacing(target) as file:
        shutil.copyfileobj(original, file)
        size = file.tell()
    return FileOperationResult(str(source), str(target), size)


@contextmanager
def _os_errors() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise WorkspaceError("not_found", f"There is no such file or directory: {error.filename}") from error
    except OSError as error:
        raise WorkspaceError("file_system_refused", f"The file system refused: {error}") from error


@contextmanager
def _git_errors() -> Iterator[None]:
    try:
        yield
    except git.GitError as error:
        raise WorkspaceError(error.code, str(error)) from error
