"""The client through which the agent server asks the spawner (`spawner`) to start processes in the command
namespaces, the isolated Linux namespaces in which the agent's commands run. The started processes have the
same interface as the processes of asyncio.
"""

import asyncio
import errno
import json
import os
import signal
import socket
import sys
import tempfile
from asyncio import base_subprocess
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process, SubprocessStreamProtocol
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from agent_runtime.workspace.spawner import MAX_REQUEST_BYTES, RUN, SHOW, SOCKET

_LIMIT_BYTES = 64 * 1024
_ANSWER_SECONDS = 10.0

Stream = int | IO[Any] | None


class _Started:
    """A started process, with the parts of a `Popen` that asyncio uses. The object keeps the connection to
    the spawner (the process that starts programs) open, because the spawner ends the process when the
    connection is closed.
    """

    def __init__(self, pid: int, connection: socket.socket, streams: Mapping[str, IO[bytes]]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin = streams.get("stdin")
        self.stdout = streams.get("stdout")
        self.stderr = streams.get("stderr")
        self.connection = connection

    def poll(self) -> int | None:
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class _Transport(base_subprocess.BaseSubprocessTransport):
    def _start(  # type: ignore[override]  # the base passes on what its constructor was given
        self, *_arguments: object, started: _Started, **_options: object
    ) -> None:
        self._proc = started  # type: ignore[assignment]  # all that is asked of a Popen

    def ended(self, status: int) -> None:
        self._process_exited(status)


async def spawn(
    address: Path,
    program: str | Path,
    *arguments: str | bytes | Path,
    stdin: Stream = None,
    stdout: Stream = None,
    stderr: Stream = None,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    start_new_session: bool = True,
) -> Process:
    """Starts a process in the command namespaces (isolated Linux namespaces for the agent's commands), like
    `asyncio.create_subprocess_exec`. The process always leads a new session. `address`: the path of the
    socket of the spawner, the process that starts programs there. Raises OSError if the process cannot be
    started.
    """
    if not start_new_session:
        raise ValueError("a process in the command namespaces must lead a session")
    words = [os.fsdecode(one) for one in (program, *arguments)]
    loop = asyncio.get_running_loop()
    with ExitStack() as stack:
        files, streams = _files(stack, stdin, stdout, stderr)
        files |= {number: number for number in pass_fds}
        description = stack.enter_context(tempfile.TemporaryFile(dir=address.parent))
        description.write(_description(words, cwd, os.environ if env is None else env))
        description.flush()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.setblocking(False)
            await loop.sock_connect(connection, str(address))
            request = json.dumps({"do": RUN, "files": [*files]}).encode()
            socket.send_fds(connection, [request], [description.fileno(), *files.values()])
            pid = await _pid(loop, connection)
        except BaseException:
            connection.close()
            for stream in streams.values():
                stream.close()
            raise
    protocol = SubprocessStreamProtocol(limit=_LIMIT_BYTES, loop=loop)
    waiter = loop.create_future()
    transport = _Transport(
        loop, protocol, words, False, None, None, None, 0, waiter=waiter,
        started=_Started(pid, connection, streams),
    )  # fmt: skip
    loop.add_reader(connection, _note_end, loop, connection, transport)
    await waiter
    return Process(transport, protocol, loop)


def show(address: Path, name: str) -> None:
    """Makes the new directories of a conversation visible in the command namespaces (isolated Linux
    namespaces for the agent's commands). `address`: the path of the socket of the spawner, the process that
    does this. `name`: the name of the conversation's directory. Blocks briefly. Raises OSError if this fails.
    """
    with _connected(address) as connection:
        connection.send(json.dumps({"do": SHOW, "name": name}).encode())
        _raise_failure(json.loads(connection.recv(MAX_REQUEST_BYTES) or b'{"errno": 5}'))


def new_socket(address: Path, family: int) -> socket.socket:
    """Returns a new TCP socket in the network of the agent's commands. `address`: the path of the socket of
    the spawner, the process that makes the new socket. Blocks briefly. Raises OSError if no socket can be
    made.
    """
    with _connected(address) as connection:
        connection.send(json.dumps({"do": SOCKET, "family": family}).encode())
        said, files, _, _ = socket.recv_fds(connection, MAX_REQUEST_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
        _raise_failure(json.loads(said or b'{"errno": 5}'))
    return socket.socket(fileno=files[0])


def tell_of_end(address: Path, act: Callable[[], None]) -> Callable[[], None]:
    """Calls `act` in the current event loop when the spawner has ended. The spawner is the process that
    starts programs in the command namespaces (isolated Linux namespaces for the agent's commands). `address`:
    the path of its socket.

    Returns a function that stops this watch, so that `act` is no longer called. Blocks briefly. Raises
    OSError if the spawner cannot be reached.
    """
    loop, connection = asyncio.get_running_loop(), _connected(address)

    def stop() -> None:
        if connection.fileno() >= 0:
            loop.remove_reader(connection)
            connection.close()

    def end() -> None:
        stop()
        act()

    connection.setblocking(False)
    loop.add_reader(connection, end)
    return stop


def _connected(address: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.settimeout(_ANSWER_SECONDS)
        connection.connect(str(address))
    except BaseException:
        connection.close()
        raise
    return connection


def stand_in(
    address: Path, words: Sequence[str], cwd: str | Path, env: Mapping[str, str]
) -> tuple[str, list[str]]:
    """Returns a command that can be run in place of the wanted program: a program and its arguments. The
    command asks the spawner to run the wanted program in the command namespaces (isolated Linux namespaces
    for the agent's commands), and ends with its exit status. The spawner is the process that starts programs
    there.

    The command is for a library that can start programs only outside of these namespaces. It can run only
    once, because it removes the temporary file that describes the wanted program.

    `address`: the path of the spawner's socket. `words`: the wanted program and its arguments. `cwd`: its
    working directory. `env`: its environment variables.
    """
    handle, name = tempfile.mkstemp(dir=address.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(_description(words, cwd, env))
    program = Path(__file__).with_name("run_in_namespaces.py")
    return sys.executable, ["-I", "-S", str(program), str(address), name]


def _description(words: Sequence[str], cwd: str | Path | None, env: Mapping[str, str]) -> bytes:
    """Returns the description of a program to start, as JSON for the spawner (the process that starts it).
    `words`: the program and its arguments. `cwd`: its working directory; None means that of this process.
    `env`: its environment variables. Raises ValueError if a text contains a null character.
    """
    if any("\0" in one for one in (*words, *env, *env.values())):
        raise ValueError("embedded null byte")
    return json.dumps({"args": [*words], "cwd": str(cwd or Path.cwd()), "env": {**env}}).encode()


def _files(
    stack: ExitStack, stdin: Stream, stdout: Stream, stderr: Stream
) -> tuple[dict[int, int], dict[str, IO[bytes]]]:
    """Opens the standard streams of a program that is about to start. `stdin`, `stdout`, `stderr`: as for
    `asyncio.create_subprocess_exec`. `stack`: closes the descriptors that this function opens for the
    program.

    Returns two dictionaries. The first contains the descriptors for the program, by stream number (0, 1 or
    2). The second contains this process's ends of the pipes, by stream name (`stdin`, `stdout`, `stderr`).
    With these ends, this process writes the program's input and reads its output.
    """
    files: dict[int, int] = {}
    ours: dict[str, IO[bytes]] = {}
    for number, (name, wanted) in enumerate((("stdin", stdin), ("stdout", stdout), ("stderr", stderr))):
        if wanted == PIPE:
            reader, writer = os.pipe()
            theirs, mine = (reader, writer) if number == 0 else (writer, reader)
            stack.callback(os.close, theirs)
            files[number] = theirs
            ours[name] = open(mine, "wb" if number == 0 else "rb", buffering=0)  # noqa: PTH123, SIM115
        elif wanted == DEVNULL or wanted is None:
            files[number] = os.open(os.devnull, os.O_RDWR)
            stack.callback(os.close, files[number])
        elif wanted == STDOUT:
            files[number] = files[1]
        else:
            files[number] = wanted if isinstance(wanted, int) else wanted.fileno()
    return files, ours


async def _pid(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> int:
    answer = json.loads(await loop.sock_recv(connection, MAX_REQUEST_BYTES) or b'{"errno": 5}')
    _raise_failure(answer)
    return int(answer["pid"])


def _raise_failure(answer: Mapping[str, Any]) -> None:
    if number := answer.get("errno"):
        raise OSError(number, os.strerror(number), answer.get("path"))


def _note_end(loop: asyncio.AbstractEventLoop, connection: socket.socket, transport: _Transport) -> None:
    try:
        said = connection.recv(MAX_REQUEST_BYTES)
    except BlockingIOError:
        return
    except OSError as error:
        if error.errno != errno.ECONNRESET:
            raise
        said = b""
    loop.remove_reader(connection)
    connection.close()
    # No answer: the spawner has ended, and all programs that it started have ended with it.
    transport.ended(json.loads(said)["status"] if said else -signal.SIGKILL)
