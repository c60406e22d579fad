"""Runs an agent server as a process of this machine. The module starts the process, finds it again after a
restart of the app server, and ends it with all its child processes.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ValidationError

from app_server.core.errors import StartFailure

LOOPBACK = "127.0.0.1"
STOP_SECONDS = 5.0
POLL_SECONDS = 0.02
MAX_LOG_BYTES = 5 * 1024**2

# Child processes, to be reaped. Global, since they belong to this process and outlive a backend.
_children: dict[int, subprocess.Popen[bytes]] = {}


class Incarnation(BaseModel):
    """The identity of one running process of this machine: its process id and its start time (clock ticks
    since boot). The id alone is not enough, because the system reuses process ids.
    """

    pid: int
    started: int


class Handle(Incarnation):
    """A running agent server process, as stored in the file `process.json` of the sandbox's folder.

    `pid`, `started`: the process's id and start time (clock ticks since boot). `port`: the port of the agent
    server. `inner_url`: the URL at which the sandbox reaches the app server. `init`: the first process in the
    process namespace that bubblewrap has created, or None without bubblewrap; when it ends, the kernel ends
    all processes of the namespace. `has_own_network`: True if commands of the agent run in a separate network
    and cannot use this machine's network. `place`: the device and inode numbers of the sandbox's folder. They
    are different for a copy of the folder, so the stored process is not looked for in a copy.

    If an older version of Slipway wrote the file, `has_own_network` is False and `place` is None.
    """

    port: int
    inner_url: str
    init: Incarnation | None = None
    has_own_network: bool = False
    place: str | None = None

    @property
    def is_walled(self) -> bool:
        return self.init is not None


@dataclass(frozen=True)
class Launch:
    """The command, the environment and the working directory with which an agent server is started.

    `listener`: the open socket on which the agent server accepts connections. The process inherits the
    socket, under the same file descriptor number as in the app server. `stdin`: the keys that the process
    reads from its standard input. `tells_init`: whether the command is bubblewrap. Bubblewrap gets the option
    `--info-fd` and then tells the app server which process is the first one in its namespace.
    """

    command: Sequence[str]
    environment: dict[str, str]
    directory: Path
    listener: socket.socket
    stdin: bytes = b""
    tells_init: bool = False


def start(folder: Path, launch: Launch, inner_url: str) -> Handle:
    """Starts an agent server as a process of this machine. Returns the data by which the app server finds the
    process again after a restart, such as the process id and the port. Also stores this data in the file
    `process.json` of `folder`. `inner_url`: the URL at which the sandbox reaches the app server; it is a part
    of the data. Blocks the thread for some milliseconds. Raises OSError if the agent server cannot be
    started.

    The app server sends the keys to the agent server only after it has stored the data. An agent server that
    gets no keys ends. So if the app server is killed before it has stored the data, no unknown agent server
    keeps running.
    """
    with _open_log(folder / "agent-server.log") as log:
        child, init = _spawn(launch, log)
    _children[child.pid] = child
    keys = b""
    try:
        # A child that died at once is a zombie until it is reaped, so its start time can still be read.
        handle = Handle(
            **_incarnation(child.pid).model_dump(),
            port=launch.listener.getsockname()[1],
            inner_url=inner_url,
            init=init,
            has_own_network=launch.tells_init,
            place=_folder_identity(folder),
        )
        _write_handle(folder, handle)
        keys = launch.stdin
    finally:
        _hand_over(child, keys)
    return handle


def listen(wanted: int) -> socket.socket:
    """Returns a socket that listens on port `wanted`. If `wanted` is 0 or not free, the socket listens on any
    free port. The agent server inherits this socket. It does not open the port itself, because another
    program could take the port first.

    Clients can connect at once: their connections wait until the agent server accepts them, and fail if the
    agent server ends. Raises StartFailure `sandbox_port_taken` if no port is free.
    """
    for candidate in (wanted, 0):
        listener = socket.socket()
        # Connections of a previous agent server that are still winding down do not matter.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, candidate))
            listener.listen()
        except OSError:
            listener.close()
        else:
            return listener
    raise StartFailure(
        "sandbox_port_taken",
        "No free port was found on this machine for the sandbox's agent server.",
        fix="End programs that hold many ports, then retry the start.",
    )


def read_handle(folder: Path) -> Handle | None:
    """Reads the stored data of the agent server process from `process.json` in `folder`. Returns None if
    there is no such data, or if `folder` is a copy of another sandbox's folder.

    In a copy, the stored process belongs to the original folder.
    """
    try:
        handle = Handle.model_validate_json((folder / "process.json").read_bytes())
        return handle if handle.place in {None, _folder_identity(folder)} else None
    except (FileNotFoundError, ValidationError):
        return None


def is_alive(process: Incarnation) -> bool:
    if child := _children.get(process.pid):
        # It has ended when it can be reaped: before that, ending threads may still hold its port.
        if child.poll() is None:
            return True
        del _children[process.pid]
        return False
    stat = _read_stat(process.pid)
    return stat is not None and stat[0] not in "ZX" and stat[1] == process.started


async def stop(handle: Handle) -> None:
    """Ends the agent server and all its child processes: first with SIGTERM, then with SIGKILL.

    If the system has given the process id to a different process, does not end that process. Also call this
    function if only the agent server has ended, because other processes in its namespace may still run.
    """
    if is_alive(handle):
        _terminate(handle)
        await _wait_for_end(handle)
    if handle.init and is_alive(handle.init):
        # The kernel ends whatever else lives in its pid namespace.
        _signal(os.kill, handle.init.pid, signal.SIGKILL)
        await _wait_for_end(handle.init)
    if is_alive(handle):
        _signal(os.killpg, handle.pid, signal.SIGKILL)
        await _wait_for_end(handle)


def _spawn(launch: Launch, log: IO[bytes]) -> tuple[subprocess.Popen[bytes], Incarnation | None]:
    info, info_writer = os.pipe()
    # Bubblewrap itself keeps the pipe open. Otherwise, a kill of this process would break the pipe, and the
    # first process of the namespace would wait for bubblewrap for ever.
    options = ["--info-fd", str(info_writer), "--sync-fd", str(info)] if launch.tells_init else []
    with os.fdopen(info, "rb") as reader:
        try:
            program, *arguments = launch.command
            child = subprocess.Popen(
                [program, *options, *arguments],
                cwd=launch.directory,
                env=launch.environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(launch.listener.fileno(), *([info, info_writer] if launch.tells_init else [])),
                start_new_session=True,
            )
        finally:
            os.close(info_writer)
        said = reader.read() if launch.tells_init else b""
    return child, _incarnation(json.loads(said)["child-pid"]) if said else None


def _hand_over(child: subprocess.Popen[bytes], content: bytes) -> None:
    assert child.stdin
    try:
        child.stdin.write(content)
        child.stdin.close()
    except BrokenPipeError:
        return  # it ended at once; its log tells why


def _terminate(handle: Handle) -> None:
    if handle.init is None:
        _signal(os.killpg, handle.pid, signal.SIGTERM)
        return
    # The first process of the namespace ignores SIGTERM, but its children do not.
    for pid in _children_of(handle.init.pid):
        _signal(os.kill, pid, signal.SIGTERM)


async def _wait_for_end(process: Incarnation) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    while is_alive(process) and time.monotonic() < deadline:  # noqa: ASYNC110 (no event tells of its end)
        await asyncio.sleep(POLL_SECONDS)


def _open_log(path: Path) -> IO[bytes]:
    if path.exists() and path.stat().st_size > MAX_LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    return path.open("ab")


def _write_handle(folder: Path, handle: Handle) -> None:
    draft = folder / "process.json.new"
    draft.write_text(handle.model_dump_json())
    draft.replace(folder / "process.json")


def _folder_identity(folder: Path) -> str:
    """Returns a text that identifies the folder: its device number and inode number.

    The text stays the same when the folder is renamed. It is different for a copy of the folder.
    """
    status = folder.stat()
    return f"{status.st_dev}:{status.st_ino}"


def _incarnation(pid: int) -> Incarnation:
    stat = _read_stat(pid)
    return Incarnation(pid=pid, started=stat[1] if stat else 0)


def _read_stat(pid: int) -> tuple[str, int] | None:
    """Returns the state letter and the start time (in ticks since boot) of the process with this id. Returns
    None if there is no such process.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold spaces and parentheses itself; fields 3 and 22 follow the last one.
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19])


def _children_of(pid: int) -> list[int]:
    """Returns the process ids of the direct child processes of the process `pid`.

    Returns an empty list on kernels that do not provide this information. The caller then cannot send SIGTERM
    to the children, and ends them with SIGKILL.
    """
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _signal(send: Callable[[int, int], None], pid: int, number: int) -> None:
    try:
        send(pid, number)
    except ProcessLookupError:
        return  # it ended by itself meanwhile
