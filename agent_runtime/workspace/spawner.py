"""The spawner: a process that starts programs in the command namespaces (the isolated Linux namespaces in
which the agent's commands run, see `command_namespaces.py`). It does this for the agent server, which is
outside of these namespaces.

Each connection is for one program. The request contains the program's description (JSON in a file, since it
can be long) and the files that the program gets. The spawner answers with the program's pid or an error, and
later with the exit status. If the connection is closed before the program has ended, the program is killed
with its process group. A connection can also ask for a socket in the network of the command namespaces.

The spawner has one thread and never blocks to wait for a new program. A command of the agent could stop the
new process before the program starts in it, and the spawner would then wait for ever.
"""

import errno
import fcntl
import json
import os
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent_runtime.workspace.signals import exists

RUN, SHOW, SIGNAL, SOCKET = "run", "show", "signal", "socket"
MAX_REQUEST_BYTES = 4096
MAX_FILES = 16
_FIRST_FREE = 256
_PIECE_BYTES = 4096


@dataclass
class _Program:
    connection: socket.socket
    pid: int
    status: int | None = None
    is_known: bool = False
    """Whether the agent server has got the first answer about the program: the pid or an error."""


class Spawner:
    """The server loop of the spawner, the process that starts programs in the command namespaces when the
    agent server asks for them.

    `show`: a function that makes a conversation's directories visible in the command namespaces. `first`: the
    pid of the first process of the command namespaces.
    """

    def __init__(self, listener: socket.socket, show: Callable[[str], None], first: int) -> None:
        self._listener = listener
        self._show = show
        self._first = first
        self.is_over = False
        self._selector = selectors.DefaultSelector()
        self._programs: dict[int, _Program] = {}
        self._by_connection: dict[int, _Program] = {}
        self._wake, waking = os.pipe()
        for end in (self._wake, waking):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._wake, selectors.EVENT_READ, self._reap)

    def turn(self) -> None:
        for key, _ in self._selector.select():
            key.data()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        self._selector.register(connection, selectors.EVENT_READ, lambda: self._receive(connection))

    def _receive(self, connection: socket.socket) -> None:
        try:
            content, files, _, _ = socket.recv_fds(
                connection, MAX_REQUEST_BYTES, MAX_FILES, socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionError:
            content, files = b"", []
        if not content:
            self._leave(connection)
            return
        request = json.loads(content)
        try:
            if request["do"] == RUN:
                self._run(connection, request["files"], files)
            elif request["do"] == SHOW:
                self._answer(connection, self._show_directories(request["name"]))
            elif request["do"] == SOCKET:
                self._give_socket(connection, request["family"])
            elif program := self._by_connection.get(connection.fileno()):
                _signal_group(program, request["number"])
        finally:
            for file in files:
                os.close(file)

    def _show_directories(self, name: str) -> dict[str, Any]:
        try:
            self._show(name)
        except OSError as error:
            return _failure(error)
        return {}

    def _give_socket(self, connection: socket.socket, family: int) -> None:
        """Creates a socket in the network of the command namespaces (isolated Linux namespaces for the
        agent's commands) and sends it to the agent server. The socket still belongs to this network when the
        agent server uses it.
        """
        try:
            with socket.socket(family, socket.SOCK_STREAM) as made:
                socket.send_fds(connection, [b"{}"], [made.fileno()], socket.MSG_DONTWAIT)
        except OSError as error:
            self._answer(connection, _failure(error))

    def _run(self, connection: socket.socket, numbers: list[int], files: list[int]) -> None:
        description, *given = files
        with os.fdopen(os.dup(description), "rb") as file:
            file.seek(0)
            wanted = json.load(file)
        report_reader, telling = os.pipe()
        try:
            pid = os.fork()
        except OSError as error:  # too many processes
            os.close(report_reader)
            os.close(telling)
            self._answer(connection, _failure(error))
            return
        if pid == 0:
            _become(wanted, dict(zip(numbers, given, strict=True)), telling)
        os.close(telling)
        program = _Program(connection, pid)
        self._programs[pid] = self._by_connection[connection.fileno()] = program
        self._selector.register(
            report_reader, selectors.EVENT_READ, lambda: self._begun(program, report_reader)
        )

    def _begun(self, program: _Program, report_reader: int) -> None:
        """Reports the start of a program to the agent server: the pid if the program runs, or the error if it
        could not be started. `report_reader`: the pipe from the new process. If the start fails, the process
        writes the error to the pipe. Otherwise the pipe is closed without any text.
        """
        said = os.read(report_reader, _PIECE_BYTES)
        self._selector.unregister(report_reader)
        os.close(report_reader)
        program.is_known = True
        self._answer(program.connection, json.loads(said) if said else {"pid": program.pid})
        self._tell_end(program)

    def _reap(self) -> None:
        os.read(self._wake, _PIECE_BYTES)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._first:
                # No program can start in the command namespaces any more. The server notices that this
                # process ends.
                sys.stderr.write("The first process of the command namespaces has ended.\n")
                self.is_over = True
            if program := self._programs.pop(pid, None):
                program.status = os.waitstatus_to_exitcode(status)
                self._tell_end(program)

    def _tell_end(self, program: _Program) -> None:
        if program.is_known and program.status is not None:
            self._answer(program.connection, {"status": program.status})

    def _leave(self, connection: socket.socket) -> None:
        program = self._by_connection.pop(connection.fileno(), None)
        # After a program has ended, the processes that it left in the background keep running.
        if program and program.status is None:
            _signal_group(program, signal.SIGKILL)
        self._selector.unregister(connection)
        connection.close()

    def _answer(self, connection: socket.socket, content: dict[str, Any]) -> None:
        try:
            connection.send(json.dumps(content).encode(), socket.MSG_DONTWAIT)
        except OSError:
            return  # gone; its end is noticed by itself


def serve(listener: socket.socket, show: Callable[[str], None], first: int) -> None:
    """Serves the agent server's requests to start programs in the command namespaces (isolated Linux
    namespaces for the agent's commands), until this process or the first process of the command namespaces
    ends. `listener`: the socket on which the requests arrive. `show`: makes a conversation's directories
    visible in the command namespaces. `first`: the pid of the first process of the command namespaces.
    """
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    spawner = Spawner(listener, show, first)
    while not spawner.is_over:
        spawner.turn()


def _signal_group(program: _Program, number: int) -> None:
    if program.status is not None and exists(program.pid):
        return  # the id belongs to another process now: the group has no members left
    try:
        os.killpg(program.pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _failure(error: OSError) -> dict[str, Any]:
    return {"errno": error.errno or errno.EIO, "path": error.filename}


def _become(wanted: dict[str, Any], files: dict[int, int], telling: int) -> None:
    """Replaces this new process by the wanted program (exec). Does not return.

    `wanted`: the program's description, with `args`, `env` and `cwd`. `files`: the open files that the
    program gets. Each key is the descriptor number that the program expects, such as 0 for standard input.
    The value is the present descriptor of the file. `telling`: the pipe to which an error is written if the
    program cannot be started.
    """
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        _arrange(files)
        os.chdir(wanted["cwd"])
        program = wanted["args"][0]
        try:
            os.execvpe(program, wanted["args"], wanted["env"])  # noqa: S606 (no shell is wanted)
        except OSError as error:
            error.filename = program
            raise
    except OSError as error:
        os.write(telling, json.dumps(_failure(error)).encode())
    finally:
        os._exit(127)


def _arrange(files: dict[int, int]) -> None:
    """Prepares a new process for the start of a program: copies each open file to the descriptor number under
    which the program expects it. `files`: the present descriptors by the expected number.
    """
    apart = {number: fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE) for number, file in files.items()}
    for number, file in apart.items():
        os.dup2(file, number)
