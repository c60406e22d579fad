"""Starts app servers without the seconds of a start: forks them from a process that has done most of the
work.

server = ForkedAppServer(["serve"], environment, output)    # much like `subprocess.Popen`
server.kill()                                               # a separate process, with another id
run_slipway(["doctor"], environment).stdout                 # much like `subprocess.run`

Each process that runs tests has one nursery. That is a process which has loaded the modules of `slipway
serve`, has prepared its routes and compiled the usual SQL, and then only forks. A forked process runs the
normal `slipway` command, with its own environment and output. `/proc/ID/cmdline` and `/proc/ID/environ` of a
forked process show the values of the nursery. Agent servers have another nursery (forked_agents.py).
"""

import asyncio
import atexit
import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any

from tests.support.patience import PATIENCE_SECONDS

REST_SECONDS = "SLIPWAY_TEST_REST_SECONDS"
"""An environment variable for a forked app server: the seconds between its checks for idle sandboxes."""
MODULES = ("app_server.cli.main", "app_server.serve", "app_server.core.logs")
_LARGEST_MESSAGE = 1024**2
_MOST_FILES = 8
_OF_THE_INTERPRETER = ("PYTHON", "LD_")


def can_fork(environment: Mapping[str, str]) -> bool:
    """Returns whether a process with this environment can be forked. This is not possible if the environment
    changes a variable that the Python interpreter or the program loader reads only at its start.
    """
    changed = {*environment.items()} ^ {*os.environ.items()}
    return not any(name.startswith(_OF_THE_INTERPRETER) for name, _ in changed)


class ForkedProcess:
    """A forked process. `files`: its open files. The key is the file descriptor in the forked process, the
    value the descriptor in this process.
    """

    def __init__(
        self,
        nursery: "Nursery",
        arguments: Sequence[str],
        environment: Mapping[str, str],
        files: Mapping[int, int],
        *,
        directory: Path | None = None,
        own_session: bool = False,
    ) -> None:
        self._nursery = nursery
        self._lock = threading.Lock()
        order = {
            "arguments": [*arguments],
            "environment": {**environment},
            "directory": str(directory or Path.cwd()),
            "numbers": [*files],
            "own_session": own_session,
        }
        self.pid = nursery.fork(order, [*files.values()])
        # The process stays a zombie, and keeps its id, until the nursery is asked for its exit code.
        self._ended = os.pidfd_open(self.pid)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Returns the exit code when the process has ended. Raises subprocess.TimeoutExpired after `timeout`
        seconds.
        """
        if self._look(timeout) is None:
            raise subprocess.TimeoutExpired(f"a forked process ({self.pid})", timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            poll = select.poll()
            poll.register(self._ended, select.POLLIN)
            if poll.poll(None if timeout is None else timeout * 1000):
                self._fetch_code()
        return self.returncode

    def _fetch_code(self) -> None:
        with self._lock:  # the code can be fetched only once
            if self.returncode is None:
                self.returncode = self._nursery.code_of(self.pid)
                os.close(self._ended)


class ForkedAppServer(ForkedProcess):
    """A `slipway` command in a forked process. It prints to `output`; errors go to `errors`, or to `output`
    if None.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        output: IO[bytes],
        errors: IO[bytes] | None = None,
    ) -> None:
        files = {1: output.fileno(), 2: (errors or output).fileno()}
        super().__init__(nursery_of("tests.support.forking"), arguments, environment, files)


def run_slipway(
    arguments: Sequence[str], environment: Mapping[str, str], seconds: float = PATIENCE_SECONDS
) -> "subprocess.CompletedProcess[str]":
    """Runs a `slipway` command and returns its result. On a timeout: kills it and raises
    subprocess.TimeoutExpired.
    """
    if not can_fork(environment):
        command = [sys.executable, "-m", "app_server", *arguments]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=seconds
        )
    with TemporaryFile() as output, TemporaryFile() as errors:
        process = ForkedAppServer(arguments, environment, output, errors)
        try:
            code = process.wait(seconds)
        except BaseException:
            process.kill()
            process.wait()
            raise
        printed = [(file.seek(0), file.read().decode())[1] for file in (output, errors)]
    return subprocess.CompletedProcess(["slipway", *arguments], code, *printed)


class NurseryEndedError(Exception):
    """The error that is raised if the nursery, the process that forks, has ended. The text contains the exit
    code and the output of the nursery.
    """


class Nursery:
    """A separate process that runs `module` and forks a new process for each request. The requests are sent
    through a socket. The nursery ends when this process closes the socket.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._errors = TemporaryFile()  # noqa: SIM115 (open as long as the socket)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(PATIENCE_SECONDS)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
            )
        atexit.register(self._end, os.getpid())

    def has_ended(self) -> bool:
        with self._lock:
            return self._process.poll() is not None

    def fork(self, order: dict[str, Any], files: list[int]) -> int:
        """Makes the nursery fork a process, and returns the id of the forked process. `order`: the command
        line, the environment and other data of the forked process. `files`: the file descriptors in this
        process that the forked process gets. Raises NurseryEndedError if the nursery has ended.
        """
        return self._ask(order, files)

    def code_of(self, pid: int) -> int:
        """Returns the exit code of a forked process that has ended. A negative code is the number of the
        signal that ended the process. Raises NurseryEndedError if the nursery has ended.
        """
        return self._ask({"ended": pid}, [])

    def _end(self, owner: int) -> None:
        if os.getpid() == owner:
            self._socket.close()
            self._process.wait()
            self._errors.close()

    def _ask(self, order: dict[str, Any], files: list[int]) -> int:
        with self._lock:
            try:
                socket.send_fds(self._socket, [json.dumps(order).encode()], files)
                answer = self._socket.recv(_LARGEST_MESSAGE)
            except (BrokenPipeError, ConnectionResetError):
                answer = b""
            if not answer:
                raise NurseryEndedError(self._last_words())
            return int(answer)

    def _last_words(self) -> str:
        code = self._process.wait(PATIENCE_SECONDS)
        self._errors.seek(0)
        printed = self._errors.read().decode(errors="replace")
        return f"The process that forks for {self._module} ended with {code}:\n{printed}"


def nursery_of(module: str) -> Nursery:
    """Returns the nursery (the process that forks) that runs `module`. Starts a nursery if there is none, or
    if the last one has ended. So if a nursery ends, one test fails with the reason, and later tests use a new
    nursery.
    """
    key = (module, os.getpid())  # a fork of this process must not use the same nursery
    with _starting:
        if key not in _nurseries or _nurseries[key].has_ended():
            _nurseries[key] = Nursery(module)
        return _nurseries[key]


_starting = threading.Lock()
_nurseries: dict[tuple[str, int], Nursery] = {}


def load_and_fork(orders: socket.socket, load: Callable[[], None]) -> list[str] | None:
    """Runs in the nursery, the process that forks: calls `load` and then forks for each request from
    `orders`.

    In each forked process it returns the arguments of the process's command. In the nursery it returns None
    when `orders` is closed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is meant for the forked processes
    orders.set_inheritable(False)
    gc.disable()
    load()
    _wait_for_threads()
    gc.freeze()
    arguments = _fork_on_demand(orders)
    gc.enable()
    return arguments


def _wait_for_threads() -> None:
    """Waits until all other threads of this process have ended, because a fork does not copy them into the
    new process. A thread that has finished its work may take a moment to end.
    """
    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    deadline = time.monotonic() + PATIENCE_SECONDS / 2
    for thread in others:
        thread.join(max(0.0, deadline - time.monotonic()))
    going_on = [thread for thread in others if thread.is_alive()]
    assert not going_on, f"what is forked would lack {going_on}"


def _fork_on_demand(orders: socket.socket) -> list[str] | None:
    """Forks a process for each request. Returns the arguments of its command in a forked process.

    In the nursery, the process that forks, it returns None when `orders` is closed.
    """
    while True:
        message, files, _, _ = socket.recv_fds(orders, _LARGEST_MESSAGE, _MOST_FILES)
        if not message:
            return None
        order = json.loads(message)
        if "ended" in order:
            _, status = os.waitpid(order["ended"], 0)
            orders.send(str(os.waitstatus_to_exitcode(status)).encode())
        elif pid := os.fork():
            for file in files:
                os.close(file)
            orders.send(str(pid).encode())
        else:
            orders.close()
            _become(order, files)
            return list(order["arguments"])


def _become(order: dict[str, Any], received: list[int]) -> None:
    # First moves all files to high numbers: a wanted number may be in use by another received file.
    above_all = max(*order["numbers"], *received) + 1
    files = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, above_all) for file in received]
    for file in received:
        os.close(file)
    for number, file in zip(order["numbers"], files, strict=True):
        os.dup2(file, number)
        os.close(file)
    if order["own_session"]:
        os.setsid()
    os.chdir(order["directory"])
    os.environ.clear()
    os.environ.update(order["environment"])
    tempfile.tempdir = None  # the new environment may name another temporary directory
    signal.signal(signal.SIGINT, signal.default_int_handler)


_ASKED = (
    "app-conversations/search",
    "sandboxes/search",
    "settings/profiles",
    "users/me",
    "secrets",
    "api-keys",
)


async def _warm_up(home: Path) -> None:
    """Sends a few requests to the apps before the first fork. The first request to a route takes longer than
    later requests. Forked processes then answer their first requests without this delay.

    The prepared routes fit every forked process, because they do not depend on the configuration.
    """
    import httpx

    from app_server import serve
    from app_server.core.config import Config
    from app_server.lifespan import lifespan
    from app_server.main import WithState
    from app_server.users.service import create_api_key, find_owner
    from tests.support.apps import inner_app, public_app
    from tests.support.shared_in_process import share

    for name in [name for name in os.environ if name.startswith("SLIPWAY_")]:
        del os.environ[name]
    share()
    vars(serve).update(create_app=public_app, create_inner_app=inner_app)
    config = Config(home=home, sandbox="process")
    async with lifespan(config) as state:
        async with state.database.session() as session:
            owner = await find_owner(session)
            assert owner is not None
            _, key = await create_api_key(session, owner, name="tests")
        headers = {"Authorization": f"Bearer {key}"}
        for app in (public_app(config), inner_app(config)):
            transport = httpx.ASGITransport(WithState(app, vars(state)))
            async with httpx.AsyncClient(
                transport=transport, base_url="http://localhost:3000", headers=headers
            ) as client:
                for path in _ASKED:
                    await client.get(f"/api/v1/{path}")


def _load() -> None:
    for name in MODULES:
        importlib.import_module(name)
    with TemporaryDirectory() as home:
        asyncio.run(_warm_up(Path(home)))


def _main(orders: socket.socket) -> None:
    if (arguments := load_and_fork(orders, _load)) is not None:
        from app_server import lifespan
        from app_server.cli.main import app

        if seconds := os.environ.pop(REST_SECONDS, None):
            vars(lifespan)["_REST_INTERVAL_SECONDS"] = float(seconds)
        sys.argv = ["slipway", *arguments]
        app()


if __name__ == "__main__":
    _main(socket.socket(fileno=int(sys.argv[1])))
