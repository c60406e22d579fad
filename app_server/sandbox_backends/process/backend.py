"""Runs each sandbox as a process on this machine, isolated by bubblewrap if that works. No container engine
is needed.

The app server's home directory contains one folder `sandboxes/<id>/` for each sandbox, with all files of the
sandbox: `process.json` (by which a restarted app server finds the process), `agent-server.log`, `home/` and
`workspace/`. The workspace also contains the conversations that the agent server stores.
"""

import asyncio
import errno
import logging
import os
import shutil
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from app_server.core.config import Config
from app_server.core.errors import StartFailure
from app_server.core.start_report import Report
from app_server.docker_engine.commands import run_command
from app_server.http.sandbox_authority import trust_variables
from app_server.sandbox_backends.backend import (
    LastWords,
    Machine,
    OneMachine,
    SandboxKind,
    WorkspaceCapacity,
    workspace_missing,
)
from app_server.sandbox_backends.docker.hardening import AGENT_UID
from app_server.sandbox_backends.folder_size import LIMIT_SECONDS, measured, measuring
from app_server.sandbox_backends.process import agent_server_process as child
from app_server.sandbox_backends.process.agent_server_process import LOOPBACK, Handle, Launch
from app_server.sandbox_backends.process.bubblewrap import (
    Bubblewrap,
    Unusable,
    find_bubblewrap,
    runtime_paths,
    write_accounts,
)
from app_server.sandbox_backends.workspace_tar import TarSink, TarSource, cannot_move, pack, unpack, writing
from app_server.sandbox_images.base_image import BaseImage

logger = logging.getLogger(__name__)

SPEC_ID = "process"
LOG_TAIL_BYTES = 8192

# What an agent's commands may see of our environment. A list of what may pass: nothing could list all
# names under which keys are kept.
ALLOWED_ENVIRONMENT = frozenset(
    {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "TMPDIR", "USER", "LOGNAME", "SHELL"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT"}
    | {"NODE_EXTRA_CA_CERTS", "NPM_CONFIG_CAFILE"}
)
_OUTER_ONLY = frozenset({"TMPDIR", "USER", "LOGNAME"})
"""The environment variables of this machine that isolated sandboxes do not get, because their values have no
meaning inside bubblewrap's namespaces.
"""

# The cwd of the agent server: `python -m` finds the package there, whether it is installed or not, and
# nothing of it reaches the environment of the agent's commands.
_RUNTIME_ROOT = Path(__file__).resolve().parents[3]

_WALLED = SandboxKind(
    backend="process",
    isolation="files",
    warning="Agents see only the files of their workspace, and reach the network only as the settings allow. "
    "But they share this machine's memory and can use all that is free. Use Docker for full isolation.",
)


class ProcessBackend(OneMachine):
    def __init__(self, config: Config) -> None:
        self._config = config
        self._root = config.home / "sandboxes"
        self._inner_url = f"http://{LOOPBACK}:{config.inner_port}"
        self._wanted = config.process_isolation
        self._disk_bytes = config.sandbox_disk_bytes
        self._total_bytes = config.sandbox_memory_total_bytes
        self._handles: dict[UUID, Handle] = {}
        self._bubblewrap: Bubblewrap | None = None
        self._missing: Unusable | None = None

    @property
    def kind(self) -> SandboxKind:
        if self._bubblewrap or self._wanted == "bubblewrap":
            return _WALLED
        reason = f" ({self._missing.cause} {self._missing.fix})" if self._missing else ""
        return SandboxKind(
            backend="process",
            isolation="none",
            warning="Sandboxes are not isolated: agents run as your user and can read and change your files."
            f"{reason}",
        )

    async def open(self) -> None:
        """Tests once whether bubblewrap works. The result decides how sandboxes are isolated until the app
        server ends. The result is not changed later, because users rely on the kind of isolation that Slipway
        has shown to them.
        """
        await asyncio.to_thread(self._root.mkdir, mode=0o700, parents=True, exist_ok=True)
        if self._wanted == "none":
            return
        try:
            self._bubblewrap = await asyncio.to_thread(find_bubblewrap)
        except Unusable as error:
            self._missing = error
            logger.warning("sandboxes are not isolated", extra={"cause": error.cause, "fix": error.fix})

    async def secure(self) -> None:
        """Does nothing. Other backends block connections of sandboxes to this host in this method. With
        bubblewrap, this is not needed, because commands of the agent have a separate network and cannot
        connect to this host. Without bubblewrap, sandboxes are not isolated, and their connections are not
        blocked.
        """

    async def examine(self) -> None:
        """Does nothing, because the method `open` has already tested whether the isolation works."""

    def inner_addresses(self) -> list[str]:
        return [LOOPBACK]

    async def prepare(
        self, report: Report, base: BaseImage | None = None, sandbox_id: UUID | None = None
    ) -> None:
        """Does nothing, because process sandboxes have no image."""

    async def start(
        self,
        sandbox_id: UUID,
        session_key: str,
        report: Report,
        base: str | None = None,  # noqa: ARG002 (they have no image)
    ) -> Machine:
        """Returns the running process of the sandbox, even if it was started before the app server was
        restarted. Starts a new process if none runs. Also replaces a running process if its isolation or its
        URL of the app server is not the present one. `base` is ignored, because process sandboxes have no
        image.

        Raises StartFailure `bubblewrap_unavailable` if isolation is required but not possible.
        """
        if self._missing and self._wanted == "bubblewrap":
            raise StartFailure("bubblewrap_unavailable", self._missing.cause, fix=self._missing.fix)
        folder = self._folder(sandbox_id)
        try:
            handle = await self._adopt_or_start(sandbox_id, session_key, report)
        except OSError as error:
            raise _not_started(folder, error) from error
        self._handles[sandbox_id] = handle
        return Machine(
            spec_id=SPEC_ID,
            url=f"http://{LOOPBACK}:{handle.port}",
            working_root=str(folder / "workspace" / "project"),
            inner_url=self._inner_url,
        )

    async def find_dead(self, sandbox_ids: Collection[UUID]) -> set[UUID]:
        return {sandbox_id for sandbox_id in sandbox_ids if not self._lives(sandbox_id)}

    async def last_words(self, sandbox_id: UUID) -> LastWords:
        output = await asyncio.to_thread(_log_tail, self._folder(sandbox_id))
        if self._lives(sandbox_id):
            return LastWords(cause="The agent server is running but does not answer.", output=output)
        return LastWords(code="agent_server_ended", cause="The agent server ended.", output=output)

    async def freeze(self, sandbox_id: UUID) -> None:
        # A halted process would still hold its memory, and nothing limits that here.
        await self.stop(sandbox_id)

    async def find_frozen(self) -> set[UUID]:
        return set()

    async def stop(self, sandbox_id: UUID) -> None:
        handle = self._handles.pop(sandbox_id, None)
        handle = handle or await asyncio.to_thread(child.read_handle, self._folder(sandbox_id))
        if handle:
            await child.stop(handle)

    async def export(
        self, sandbox_id: UUID, parts: Sequence[str], sink: TarSink, folder: str | None = None
    ) -> None:
        # Not paused: a paused process cannot be distinguished from one that hangs.
        await asyncio.to_thread(_export, self._folder(sandbox_id) / "workspace", parts, sink, folder)

    async def restore(self, sandbox_id: UUID, source: TarSource) -> None:
        await self.delete(sandbox_id)
        await asyncio.to_thread(_restore, self._folder(sandbox_id), source)

    @property
    def workspace_limit(self) -> WorkspaceCapacity:
        if self._disk_bytes is None:
            return WorkspaceCapacity(None, "none")
        return WorkspaceCapacity(self._disk_bytes, "watch", "Processes share this machine's disk.")

    async def watched_bytes(self, sandbox_id: UUID) -> int | None:
        if self._disk_bytes is None:
            return None
        command = measuring(self._folder(sandbox_id))
        status, output = await run_command(command, lambda _line: None, LIMIT_SECONDS + 5)
        # `du` prints errors about files that it may not read, in any order. The sum is the last line.
        return measured(output.rpartition("\n")[2]) if status in {0, 1} else None

    async def delete(self, sandbox_id: UUID) -> None:
        folder = self._folder(sandbox_id)
        await self.stop(sandbox_id)
        await asyncio.to_thread(_remove_folder, folder)

    @property
    def spare_bytes(self) -> int:
        return 0

    @property
    def lacks_spare(self) -> bool:
        return False

    async def capacities(self) -> Sequence[int] | None:
        return [self._total_bytes] if self._total_bytes else None

    async def replenish(self) -> None:
        """Does nothing. This backend starts no processes in advance, because the memory of a paused process
        would not be limited.
        """

    async def yield_spare(self) -> bool:
        return False

    async def close(self) -> None:
        """Stops the processes of all sandboxes of this app server. Their workspaces stay on disk."""
        await asyncio.gather(*(self.stop(sandbox_id) for sandbox_id in list(self._handles)))

    def _folder(self, sandbox_id: UUID) -> Path:
        return self._root / sandbox_id.hex

    def _lives(self, sandbox_id: UUID) -> bool:
        handle = self._handles.get(sandbox_id) or child.read_handle(self._folder(sandbox_id))
        return handle is not None and child.is_alive(handle)

    async def _adopt_or_start(self, sandbox_id: UUID, session_key: str, report: Report) -> Handle:
        folder = self._folder(sandbox_id)
        handle = self._handles.get(sandbox_id) or await asyncio.to_thread(child.read_handle, folder)
        if handle and child.is_alive(handle) and self._fits(handle):
            return handle
        if handle:
            # It has ended but left other processes, has another isolation, or reports to an old address.
            await child.stop(handle)
        report("Starting the agent server")
        return await asyncio.to_thread(self._launch, folder, session_key, handle.port if handle else 0)

    def _fits(self, handle: Handle) -> bool:
        is_walled = bool(self._bubblewrap)
        fits_walls = handle.is_walled == is_walled and handle.has_own_network == is_walled
        return handle.inner_url == self._inner_url and fits_walls

    def _launch(self, folder: Path, session_key: str, wanted_port: int) -> Handle:
        if not Path(sys.executable).exists():
            raise StartFailure(
                "agent_server_missing",
                f"{sys.executable}, with which agent servers are started, is gone.",
                fix="Restart Slipway: it was probably updated or moved while it ran.",
            )
        for part in ("home", "workspace/project", "workspace/conversations"):
            (folder / part).mkdir(mode=0o700, parents=True, exist_ok=True)
        with child.listen(wanted_port) as listener:
            # -s: a module in the agent's home must not replace one of ours.
            server = [sys.executable, "-s", "-m", "agent_runtime.server", "--fd", str(listener.fileno())]
            server += ["--session-key-from", "-"]
            environment = self._environment(folder)
            launch = Launch(server, environment, _RUNTIME_ROOT, listener, stdin=session_key.encode())
            if self._bubblewrap:
                launch = self._walled(self._bubblewrap, folder, launch)
            return child.start(folder, launch, self._inner_url)

    def _walled(self, bubblewrap: Bubblewrap, folder: Path, launch: Launch) -> Launch:
        accounts = folder / "accounts"
        write_accounts(accounts, folder / "home")
        command = bubblewrap.wrap(
            [*launch.command, "--command-namespaces", str(folder / "workspace" / "conversations")],
            writable=[folder / "home", folder / "workspace"],
            readable=runtime_paths(_RUNTIME_ROOT, launch.environment),
            directory=_RUNTIME_ROOT,
            accounts=accounts,
        )
        inside = {name: value for name, value in launch.environment.items() if name not in _OUTER_ONLY}
        return replace(launch, command=command, environment=inside, tells_init=True)

    def _environment(self, folder: Path) -> dict[str, str]:
        workspace = folder / "workspace"
        return {
            **{name: value for name, value in os.environ.items() if name in ALLOWED_ENVIRONMENT},
            "HOME": str(folder / "home"),
            "OH_CONVERSATIONS_PATH": str(workspace / "conversations"),
            "OH_WORKSPACE_PATH": str(workspace / "project"),
            "OH_WEBHOOKS_0_BASE_URL": f"{self._inner_url}/api/v1/webhooks",
            "OH_EGRESS_PROXY_URL": self._inner_url,
            **trust_variables(self._config),
            # Sandboxes without isolation share this machine's ports, so any free port is used.
            "OH_EGRESS_RELAY_PORT": "0",
            "OH_GIT_OUTLET_PORT": "0",
        }


def _not_started(folder: Path, error: OSError) -> StartFailure:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StartFailure(
            "sandbox_disk_full",
            f"The disk that holds {folder} is full.",
            fix="Free some room there, then retry.",
        )
    return StartFailure(
        "sandbox_home_unusable",
        f"The agent server's process could not be started: {error}",
        fix=f"See that {folder} is a directory of this user's on a disk that can be written, then retry.",
    )


def _log_tail(folder: Path) -> str:
    try:
        with (folder / "agent-server.log").open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - LOG_TAIL_BYTES))
            return log.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


def _export(workspace: Path, parts: Sequence[str], sink: TarSink, folder: str | None) -> None:
    if not workspace.is_dir():
        raise workspace_missing()
    with writing(sink) as tar:
        pack(workspace, parts, tar, owner=AGENT_UID, folder=folder)


def _restore(folder: Path, source: TarSource) -> None:
    unfinished = folder / "workspace.new"
    try:
        unfinished.mkdir(mode=0o700, parents=True)
        unpack(source, unfinished)
        unfinished.rename(folder / "workspace")
    except OSError as error:
        raise cannot_move(str(error)) from error


def _remove_folder(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
