"""The interface that programs use to run commands and copy files where an agent works."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent_runtime.wire import ProjectExecutable
from agent_runtime.workspace.git import ChangeStatus


@dataclass(frozen=True)
class CommandResult:
    """The output and exit code of a command. `exit_code` is -1 if the command was ended because it took too
    long.
    """

    command: str
    exit_code: int
    stdout: str
    stderr: str

    @property
    def timeout_occurred(self) -> bool:
        return self.exit_code == -1


@dataclass(frozen=True)
class FileOperationResult:
    source_path: str
    destination_path: str
    file_size: int
    success: bool = True


@dataclass(frozen=True)
class GitChange:
    """A file that differs from its version in a commit. `path` is relative to the repository."""

    status: ChangeStatus
    path: str


@dataclass(frozen=True)
class GitDiff:
    """The content of a file in a commit (`original`) and in the working directory (`modified`). A field is
    None if the file does not exist there.
    """

    original: str | None
    modified: str | None


class Workspace(Protocol):
    """A directory where an agent works, on this machine or on another one. Relative paths begin at this
    directory. All methods raise WorkspaceError if they fail.
    """

    @property
    def working_dir(self) -> str: ...

    @property
    def alive(self) -> bool: ...

    def execute_command(
        self, command: str, cwd: str | Path | None = None, timeout: float = 30.0
    ) -> CommandResult:
        """Runs a bash command and waits for its end. `timeout`: the time limit in seconds, after which the
        command is ended.
        """

    def file_upload(self, source_path: str | Path, destination_path: str | Path) -> FileOperationResult:
        """Copies a file of this machine to a path in the workspace, and creates the missing directories of
        `destination_path`.
        """

    def file_download(self, source_path: str | Path, destination_path: str | Path) -> FileOperationResult:
        """Copies a file of the workspace to this machine, and creates the missing directories of
        `destination_path`.
        """

    def git_changes(self, path: str | Path = ".", ref: str | None = None) -> list[GitChange]:
        """Returns the files that differ from the commit `ref`. `path`: a directory of the repository.

        If `ref` is None, compares with the last commit that the current branch shares with its upstream
        branch. Without an upstream branch, uses the default branch of `origin`. If this is missing, too,
        compares with the current branch's last commit.
        """

    def git_diff(self, path: str | Path, ref: str | None = None) -> GitDiff: ...

    def executables(self) -> list[ProjectExecutable]:
        """Returns the executables of the project: scripts, hooks, MCP servers and plugins that run only if
        the user consents.
        """

    def close(self) -> None: ...
