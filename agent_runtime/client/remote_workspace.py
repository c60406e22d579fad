"""The class RemoteWorkspace. With it, a program lets an agent work in a directory on another machine, through
the agent server on that machine.
"""

import math
import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from agent_runtime.client.errors import WorkspaceError
from agent_runtime.client.http import CONNECT_SECONDS, check, disconnected, headers
from agent_runtime.client.workspace import CommandResult, FileOperationResult, GitChange, GitDiff
from agent_runtime.wire import ExecutablesResponse, ProjectExecutable
from agent_runtime.workspace.git import ChangeStatus
from agent_runtime.workspace.local import replacing

GRACE_SECONDS = 60.0
"""How many seconds beyond a command's time limit the client waits for the answer."""


class RemoteWorkspace:
    """A workspace in a directory on an agent server. The object connects to the server when it is first used.
    `close` only ends the connections.

    A new conversation sends the agent's API key to the server, which stores the key in memory. Use a key that
    you can revoke, or let an app server make the model calls.
    """

    def __init__(
        self,
        host: str,
        *,
        api_key: str | None = None,
        working_dir: str = "/workspace/project",
        patience_seconds: float = 60.0,
    ) -> None:
        """Stores the settings; the connection is made at the first use. `host`: the base URL of the agent
        server. `api_key`: a key that the server accepts (a session key); None means that no key is sent.
        `working_dir`: the agent's directory on the server, which is created if it does not exist.

        `patience_seconds`: how long to wait for a server that does not answer before an error is raised.
        Raises ValueError if the host is not a URL.
        """
        if not host.startswith(("http://", "https://")):
            raise ValueError(f"The host must be a URL, such as http://{host}")
        self.host = host.rstrip("/")
        self.api_key = api_key
        self.working_dir = working_dir
        self.patience_seconds = patience_seconds
        self._http: httpx.Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether the agent server answers at this moment."""
        try:
            return httpx.get(f"{self.host}/health", timeout=CONNECT_SECONDS).is_success
        except httpx.TransportError:
            return False

    def execute_command(
        self, command: str, cwd: str | Path | None = None, timeout: float = 30.0
    ) -> CommandResult:
        """Runs a bash command and waits for its end. If the command runs longer than `timeout` seconds, it is
        ended and `exit_code` is -1.
        """
        body = {"command": command, "cwd": self._path(cwd or "."), "timeout": max(1, math.ceil(timeout))}
        reply = self._call(
            "POST", "/api/bash/execute_bash_command", json=body, timeout=timeout + GRACE_SECONDS
        ).json()
        return CommandResult(command, reply["exit_code"], reply["stdout"] or "", reply["stderr"] or "")

    def file_upload(self, source_path: str | Path, destination_path: str | Path) -> FileOperationResult:
        """Copies a file of this machine to a path in the workspace, and creates the missing directories of
        `destination_path`.
        """
        target = self._path(destination_path)
        try:
            with Path(source_path).open("rb") as file:
                reply = self._call("POST", "/api/file/upload", params={"path": target}, files={"file": file})
        except OSError as error:
            raise WorkspaceError("not_found", f"The file cannot be read: {error}") from error
        return FileOperationResult(str(source_path), target, reply.json()["file_size"])

    def file_download(self, source_path: str | Path, destination_path: str | Path) -> FileOperationResult:
        """Copies a file of the workspace to this machine, and creates the missing directories of
        `destination_path`.
        """
        source, params = self._path(source_path), {"path": self._path(source_path)}
        with (
            self._errors(),
            self._client().stream("GET", "/api/file/download", params=params) as reply,
        ):
            if not reply.is_success:
                reply.read()
            check(reply)
            with replacing(Path(destination_path)) as file:
                for piece in reply.iter_bytes():
                    file.write(piece)
                size = file.tell()
        return FileOperationResult(source, str(destination_path), size)

    def git_changes(self, path: str | Path = ".", ref: str | None = None) -> list[GitChange]:
        """Returns the files that differ from the commit `ref`. `path`: a directory of the repository.

        If `ref` is None, compares with the last commit that the current branch shares with its upstream
        branch. Without an upstream branch, uses the default branch of `origin`. If this is missing, too,
        compares with the current branch's last commit.
        """
        found = self._git("/api/git/changes", path, ref)
        return [GitChange(ChangeStatus(change["status"]), change["path"]) for change in found]

    def git_diff(self, path: str | Path, ref: str | None = None) -> GitDiff:
        return GitDiff(**self._git("/api/git/diff", path, ref))

    def executables(self) -> list[ProjectExecutable]:
        """Returns the executables of the project: scripts, hooks, MCP servers and plugins that run only if
        the user consents. This method only reads files.
        """
        reply = self._call("POST", "/api/offers", json={"project_dir": self.working_dir})
        return ExecutablesResponse.model_validate_json(reply.content).offers

    def close(self) -> None:
        """Ends the connections. May be called twice."""
        if self._http is not None:
            self._http.close()
            self._http = None

    def _path(self, path: str | Path) -> str:
        return posixpath.normpath(posixpath.join(self.working_dir, str(path)))

    def _git(self, route: str, path: str | Path, ref: str | None) -> Any:
        params = {"path": self._path(path), **({} if ref is None else {"ref": ref})}
        return self._call("GET", route, params=params).json()

    def _call(self, method: str, route: str, **options: Any) -> httpx.Response:
        with self._errors():
            return check(self._client().request(method, route, **options))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except httpx.TransportError as error:
            raise disconnected(self.host, error) from error

    def _client(self) -> httpx.Client:
        if self._http is None:
            timeout = httpx.Timeout(GRACE_SECONDS, connect=CONNECT_SECONDS)
            http = httpx.Client(base_url=self.host, headers=headers(self.api_key), timeout=timeout)
            try:
                check(http.post("/api/file/create_directory", params={"path": self.working_dir}))
            except BaseException:
                http.close()
                raise
            self._http = http
        return self._http
