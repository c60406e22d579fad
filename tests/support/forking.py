"""App servers without the seconds that their start takes: forked from a process that has done most of it.

server = ForkedAppServer(["serve"], environment, output)    # much like `subprocess.Popen`
server.kill()                                               # a separate process, with another id
run_slipway(["doctor"], environment).stdout                 # much like `subprocess.run`

Each process that runs tests has one nursery: a process that has loaded what `slipway serve` loads, has
prepared its routes and compiled the usual SQL, and does nothing but fork. What is forked runs the same
`slipway` command, with its own environment and output.
`/proc/ID/cmdline` and `/proc/ID/environ` are the nursery's. Agent servers have another nursery
(forked_agents.py).
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
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any

from tests.support.patience import PATIENCE_SECONDS

REST_SECONDS = "SLIPWAY_TEST_REST_SECONDS"
"""A variable for a forked app server: how many seconds pass between its looks for what rests."""
MODULES = ("app_server.cli.main", "app_server.serve", "app_server.core.logs")
_LARGEST_MESSAGE = 1024**2
_MOST_FILES = 8
_OF_THE_INTERPRETER = ("PYTHON", "LD_")


def can_fork(environment: Mapping[str, str]) -> bool:
    """Not if it changes what an interpreter reads when it starts."""
    changed = {*environment.items()} ^ {*os.environ.items()}
    return not any(name.startswith(_OF_THE_INTERPRETER) for name, _ in changed)


class ForkedProcess:
    """A forked process. `files`: its open files, by their numbers in it."""

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
        order = {
            "arguments": [*arguments],
            "environment": {**environment},
            "directory": str(directory or Path.cwd()),
            "numbers": [*files],
            "own_session": own_session,
        }
        self.pid = nursery.fork(order, [*files.values()])
        # It stays a zombie, and keeps its id, until the nursery is asked how it ended.
        self._ended = os.pidfd_open(self.pid)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
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
                self.returncode = self._nursery.code_of(self.pid)
                os.close(self._ended)
        return self.returncode


class ForkedAppServer(ForkedProcess):
    """A `slipway` command. What it prints goes to `output`, and to `errors` if that is another file."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        output: IO[bytes],
        errors: IO[bytes] | None = None,
    ) -> None:
        files = {1: output.fileno(), 2: (errors or output).fileno()}
        super().__init__(_nursery(os.getpid()), arguments, environment, files)


def run_slipway(
    arguments: Sequence[str], environment: Mapping[str, str], seconds: float = PATIENCE_SECONDS
) -> "subprocess.CompletedProcess[str]":
    """Returns once the command has ended. Raises subprocess.TimeoutExpired, and has killed it then."""
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


class Nursery:
    """A process that runs this module, prepares itself and forks until our end of its socket is closed."""

    def __init__(self, module: str) -> None:
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(PATIENCE_SECONDS)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        atexit.register(self._end, os.getpid())

    def fork(self, order: dict[str, Any], files: list[int]) -> int:
        return self._ask(order, files)

    def code_of(self, pid: int) -> int:
        """Of one that has ended: as `subprocess` has it, negative for a signal."""
        return self._ask({"ended": pid}, [])

    def _end(self, owner: int) -> None:
        if os.getpid() == owner:
            self._socket.close()
            self._process.wait()

    def _ask(self, order: dict[str, Any], files: list[int]) -> int:
        with self._lock:
            socket.send_fds(self._socket, [json.dumps(order).encode()], files)
            return int(self._socket.recv(_LARGEST_MESSAGE))


@cache
def _nursery(_owner: int) -> Nursery:
    """One for each process: a fork of this one needs its own."""
    return Nursery("tests.support.forking")


def load_and_fork(orders: socket.socket, load: Callable[[], None]) -> list[str] | None:
    """Calls `load` and then forks on demand. In what was forked: returns the arguments of its command. In the
    nursery: None, at the end.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's is for those that were forked
    orders.set_inheritable(False)
    gc.disable()
    load()
    assert threading.enumerate() == [threading.main_thread()], "what is forked would lack threads"
    gc.freeze()
    arguments = _fork_on_demand(orders)
    gc.enable()
    return arguments


def _fork_on_demand(orders: socket.socket) -> list[str] | None:
    """In what was forked: the arguments of its command. In the nursery: None, at the end."""
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
    # First out of the way: a number that is asked for may be that of another one.
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
    tempfile.tempdir = None  # another environment may name another one
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
    """Serves a few requests, so that what every server does at its first ones is done.

    The routes do not depend on the configuration.
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
