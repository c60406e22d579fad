"""Sandboxes that are plain processes on this machine: no isolation, no engine needed.

`home`/sandboxes/<id>/ holds everything of one: `process.json` (who it is, for a restarted app server),
`agent-server.log`, `home/` and `workspace/`, which the agent server keeps its conversations in.
"""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import IO
from uuid import UUID

from pydantic import BaseModel, ValidationError

from agent_runtime import wire
from app_server.config import Config
from app_server.errors import StartFailure
from app_server.sandboxes.backend import LastWords, Machine, Report, SandboxKind

SPEC_ID = "process"
LOOPBACK = "127.0.0.1"
STOP_SECONDS = 5.0
POLL_SECONDS = 0.02
LOG_TAIL_BYTES = 8192
MAX_LOG_BYTES = 5 * 1024**2

# What an agent's commands may see of our environment. A list of what may pass, since nobody can list all
# names under which keys are kept.
ALLOWED_ENVIRONMENT = frozenset(
    {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "TMPDIR", "USER", "LOGNAME", "SHELL"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT"}
    | {"NODE_EXTRA_CA_CERTS", "NPM_CONFIG_CAFILE"}
)

# The cwd of the agent server: `python -m` finds the package there, whether it is installed or not, and
# nothing of it reaches the environment of the agent's commands.
_RUNTIME_ROOT = Path(wire.__file__).resolve().parents[1]

# Children of this process, to be reaped. A process has them, not an object: they outlive a backend.
_children: dict[int, subprocess.Popen[bytes]] = {}


class Handle(BaseModel):
    """A process and when it started (clock ticks since boot): a pid alone may be somebody else's by now."""

    pid: int
    started: int
    port: int
    inner_url: str


class ProcessBackend:
    kind = SandboxKind(
        backend="process",
        is_isolated=False,
        warning="Sandboxes are not isolated: agents run as your user and can read and change your files.",
    )

    def __init__(self, config: Config) -> None:
        self._root = config.home / "sandboxes"
        self._inner_url = f"http://{LOOPBACK}:{config.inner_port}"
        self._handles: dict[UUID, Handle] = {}

    async def open(self) -> None:
        await asyncio.to_thread(self._root.mkdir, mode=0o700, parents=True, exist_ok=True)

    def inner_addresses(self) -> list[str]:
        return [LOOPBACK]

    async def prepare(self, report: Report) -> None:
        """Nothing is shared between them."""

    async def start(self, sandbox_id: UUID, session_key: str, report: Report) -> Machine:
        """Adopts the process when it lives, even if another app server started it."""
        folder = self._folder(sandbox_id)
        try:
            handle = await self._adopt_or_start(sandbox_id, session_key, report)
        except OSError as error:
            raise StartFailure(
                "sandbox_start_failed",
                f"The agent server's process could not be started: {error}",
                fix=f"See that {folder} can be written and that the disk has room, then retry.",
            ) from error
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
        if "address already in use" in output.lower():
            return LastWords(
                code="sandbox_port_taken",
                cause="The port of the sandbox's agent server was taken by another program.",
                fix="Retry: another port is chosen then.",
                output=output,
            )
        state = "is running but" if self._lives(sandbox_id) else "ended and"
        return LastWords(cause=f"The agent server {state} does not answer.", output=output)

    async def delete(self, sandbox_id: UUID) -> None:
        folder = self._folder(sandbox_id)
        await self._stop(sandbox_id)
        await asyncio.to_thread(_remove_folder, folder)

    async def close(self) -> None:
        """Stops them all; their workspaces stay."""
        await asyncio.gather(*(self._stop(sandbox_id) for sandbox_id in list(self._handles)))

    def _folder(self, sandbox_id: UUID) -> Path:
        return self._root / sandbox_id.hex

    def _lives(self, sandbox_id: UUID) -> bool:
        handle = self._handles.get(sandbox_id)
        return handle is not None and _is_alive(handle)

    async def _adopt_or_start(self, sandbox_id: UUID, session_key: str, report: Report) -> Handle:
        folder = self._folder(sandbox_id)
        handle = self._handles.get(sandbox_id) or await asyncio.to_thread(_read_handle, folder)
        if handle and handle.inner_url != self._inner_url:
            await _stop(handle)  # it reports to a listener that is gone
        if handle and _is_alive(handle):
            return handle
        report("Starting the agent server")
        environment = self._environment(folder, session_key)
        wanted_port = handle.port if handle else 0
        return await asyncio.to_thread(_start, folder, environment, wanted_port, self._inner_url)

    async def _stop(self, sandbox_id: UUID) -> None:
        handle = self._handles.pop(sandbox_id, None)
        handle = handle or await asyncio.to_thread(_read_handle, self._folder(sandbox_id))
        if handle:
            await _stop(handle)

    def _environment(self, folder: Path, session_key: str) -> dict[str, str]:
        workspace = folder / "workspace"
        return {
            **{name: value for name, value in os.environ.items() if name in ALLOWED_ENVIRONMENT},
            "HOME": str(folder / "home"),
            "OH_SESSION_API_KEYS_0": session_key,
            "OH_CONVERSATIONS_PATH": str(workspace / "conversations"),
            "OH_WORKSPACE_PATH": str(workspace / "project"),
            "OH_WEBHOOKS_0_BASE_URL": f"{self._inner_url}/api/v1/webhooks",
        }


def _start(folder: Path, environment: dict[str, str], wanted_port: int, inner_url: str) -> Handle:
    for part in ("home", "workspace/project", "workspace/conversations"):
        (folder / part).mkdir(mode=0o700, parents=True, exist_ok=True)
    port = _choose_port(wanted_port)
    with _open_log(folder / "agent-server.log") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "agent_runtime.server", "--host", LOOPBACK, "--port", str(port)],
            cwd=_RUNTIME_ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _children[child.pid] = child
    # A child that died at once is a zombie until it is reaped, so its start time can be read all the same.
    stat = _read_stat(child.pid)
    handle = Handle(pid=child.pid, started=stat[1] if stat else 0, port=port, inner_url=inner_url)
    _write_handle(folder, handle)
    return handle


def _choose_port(wanted: int) -> int:
    """`wanted` if it is free (or 0), else any other."""
    for candidate in (wanted, 0):
        with socket.socket() as probe:
            # As the server does: connections of a previous one that are still winding down do not matter.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, candidate))
            except OSError:
                continue
            port: int = probe.getsockname()[1]
            return port
    raise StartFailure(
        "sandbox_port_taken",
        "No free port was found on this machine for the sandbox's agent server.",
        fix="End programs that hold many ports, then retry the start.",
    )


def _open_log(path: Path) -> IO[bytes]:
    if path.exists() and path.stat().st_size > MAX_LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    return path.open("ab")


def _log_tail(folder: Path) -> str:
    try:
        with (folder / "agent-server.log").open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - LOG_TAIL_BYTES))
            return log.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


def _read_handle(folder: Path) -> Handle | None:
    try:
        return Handle.model_validate_json((folder / "process.json").read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def _write_handle(folder: Path, handle: Handle) -> None:
    draft = folder / "process.json.new"
    draft.write_text(json.dumps(handle.model_dump()))
    draft.replace(folder / "process.json")


def _is_alive(handle: Handle) -> bool:
    if child := _children.get(handle.pid):
        # It is gone when it can be reaped: a zombie whose threads are still ending holds its port.
        if child.poll() is None:
            return True
        del _children[handle.pid]
        return False
    stat = _read_stat(handle.pid)
    return stat is not None and stat[0] not in "ZX" and stat[1] == handle.started


def _read_stat(pid: int) -> tuple[str, int] | None:
    """`(state, start time in ticks since boot)` of a process, if there is one."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold spaces and parentheses itself; fields 3 and 22 follow the last one.
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19])


async def _stop(handle: Handle) -> None:
    """Ends the whole process group, first politely. A stranger with a recycled pid is left alone."""
    for number, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, STOP_SECONDS)):
        if not _is_alive(handle):
            return
        _signal_group(handle.pid, number)
        deadline = time.monotonic() + seconds
        while _is_alive(handle) and time.monotonic() < deadline:  # noqa: ASYNC110 (nobody tells of its end)
            await asyncio.sleep(POLL_SECONDS)


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return  # it ended by itself meanwhile


def _remove_folder(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
