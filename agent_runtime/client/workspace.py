"""The interface that programs use to run commands and copy files where an agent works."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent_runtime.wire import Offer
from agent_runtime.workspace.git import ChangeStatus


@dataclass(frozen=True)
class CommandResult:
    """The output and exit code of a command. `exit_code` is -1 if the command took too long and was ended."""

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
    """A file that differs from a commit. `path` is relative to the repository."""

    status: ChangeStatus
    path: str


@dataclass(frozen=True)
class GitDiff:
    """A file's content before and now. None where the file does not exist."""

    original: str | None
    modified: str | None


class Workspace(Protocol):
    """A directory on this machine or another one. Relative paths begin at this directory. All methods raise
    WorkspaceError if they fail.
    """

    @property
    def working_dir(self) -> str: ...

    @property
    def alive(self) -> bool: ...

    def execute_command(
        self, command: str, cwd: str | Path | None = None, timeout: float = 30.0
    ) -> CommandResult:
        """Runs a bash command and waits for its end. `timeout`: in seconds."""

    def file_upload(self, source_path: str | Path, destination_path: str | Path) -> FileOperationResult:
        """Copies a file of this machine into the workspace and creates missing directories there."""

    def file_download(self, source_path: str | Path, destination_path: str | Path) -> FileOperationResult:
        """Copies a file of the workspace to this machine and creates missing directories here."""

    def git_changes(self, path: str | Path = ".", ref: str | None = None) -> list[GitChange]:
        """Returns the files that differ from `ref`. Without `ref`, compares with the commit where the branch
        left its upstream.
        """

    def git_diff(self, path: str | Path, ref: str | None = None) -> GitDiff: ...

    def offers(self) -> list[Offer]:
        """Returns the parts of the project that would run: scripts, hooks, MCP servers, plugins."""

    def close(self) -> None: ...
