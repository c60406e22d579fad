"""What a program may do where the agent works."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent_runtime.wire import Offer
from agent_runtime.workspace.git import ChangeStatus


@dataclass(frozen=True)
class CommandResult:
    """`exit_code` is -1 when the command took too long and was ended."""

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
    """`path` is relative to the repository."""

    status: ChangeStatus
    path: str


@dataclass(frozen=True)
class GitDiff:
    """A file before and now; None where it does not exist."""

    original: str | None
    modified: str | None


class Workspace(Protocol):
    """A directory, here or elsewhere. Relative paths begin there. WorkspaceError for all that fails."""

    @property
    def working_dir(self) -> str: ...

    @property
    def alive(self) -> bool: ...

    def execute_command(
        self, command: str, cwd: str | Path | None = None, timeout: float = 30.0
    ) -> CommandResult:
        """Runs a bash command to its end. timeout: seconds."""

    def file_upload(self, source_path: str | Path, destination_path: str | Path) -> FileOperationResult:
        """Copies a file of this machine into the workspace, with the directories it needs."""

    def file_download(self, source_path: str | Path, destination_path: str | Path) -> FileOperationResult:
        """Copies a file of the workspace to this machine, with the directories it needs."""

    def git_changes(self, path: str | Path = ".", ref: str | None = None) -> list[GitChange]:
        """Files that differ from `ref`; without it, from where the branch left its upstream."""

    def git_diff(self, path: str | Path, ref: str | None = None) -> GitDiff: ...

    def offers(self) -> list[Offer]:
        """What the project in it brings that would run: scripts, hooks, MCP servers, plugins."""

    def close(self) -> None: ...
