"""A Docker engine that a test runs for itself. It looks like the engine of another machine.

It has its own namespaces (network, mounts, processes), so that all its processes end with it. The memory of
its containers is limited together.

with OwnEngine(memory_bytes=2 * 1024**3, image=sandbox_image()) as engine:
    engine.restart()                                # the containers may go on: see `live_restore`
    subprocess.Popen([*engine.inside, "program"])   # on that machine, with the files of this machine
    engine.lose()                                   # ends the whole machine, as a power failure does
"""

import atexit
import fcntl
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self
from uuid import uuid4

from docker import DockerClient

from tests.support.engine_images import ON_DISK, keep_image, link_image, stored_image
from tests.support.patience import PATIENCE_SECONDS
from tests.support.server import wait_until

_CGROUPS = Path("/sys/fs/cgroup")
# The first process of the machine. It becomes the parent of orphaned processes there and reaps them.
_INIT = """
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("up", flush=True)
while True:
    signal.pause()
"""


class OwnEngine:
    """The engine and its simulated machine. `memory_bytes`: the limit for all of its containers together.

    `live_restore`: whether its containers go on while the engine is stopped. `image`: an image of the engine
    of this machine, which is copied before the first start; None for no image. `address`: the address of the
    simulated machine, as this machine reaches it; `address_of_ours`: the address in the other direction.
    """

    def __init__(
        self, *, memory_bytes: int = 4 * 1024**3, live_restore: bool = False, image: str | None = None
    ) -> None:
        self._name = f"slipway-test-{uuid4().hex[:8]}"
        # Not in the folder of the test: the paths of sockets have to be short, and images are large.
        self._folder = Path(tempfile.mkdtemp(prefix="slipway-engine-", dir=ON_DISK))
        self._memory_bytes = memory_bytes
        self._live_restore = live_restore
        self._image = image
        self._machine: subprocess.Popen[str] | None = None
        self._engine: subprocess.Popen[bytes] | None = None
        network, self._reservation = _reserved_network()
        self.address_of_ours, self.address = f"{network}.1", f"{network}.2"
        self.url = f"unix://{self._folder / 'docker.sock'}"
        self.environment = {"DOCKER_HOST": self.url}
        self.log = self._folder / "dockerd.log"

    def __enter__(self) -> Self:
        try:
            self.boot()
            self.start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    @property
    def _interface(self) -> str:
        """The name of this machine's network interface towards the simulated machine."""
        return f"v{self._name[-8:]}"

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def inside(self) -> list[str]:
        """The beginning of a command line that runs a program on the simulated machine."""
        return ["nsenter", f"--target={self._pid}", "--net", "--mount", "--pid", "--"]

    @property
    def on_its_network(self) -> list[str]:
        """The beginning of a command line that runs a program of this machine on the network of the simulated
        machine. The program sees the files and processes of this machine.

        The program replaces the `nsenter` process, so it has that process's id.
        """
        return ["nsenter", f"--target={self._pid}", "--net", "--"]

    def client(self) -> DockerClient:
        return DockerClient(base_url=self.url, version="auto", timeout=120)

    def boot(self) -> None:
        """Starts the simulated machine without its engine. The machine ends when the calling thread ends."""
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "--pid", "--fork"]
        command += ["--kill-child", "--mount-proc", sys.executable, "-c", _INIT]
        with self.log.open("ab") as log:
            self._machine = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        children = Path(f"/proc/{self._machine.pid}/task/{self._machine.pid}/children")
        assert _line(self._machine.stdout) == "up"
        self._pid = int(children.read_text().split()[0])
        for path in self._folder.glob("*.pid"):
            path.unlink()
        self._connect()
        self._bound_memory()

    def start(self) -> None:
        """Starts the engine and waits until it answers.

        If the engine exits, it is started again, as a service manager does: on a busy disk its containerd may
        take longer to start than the engine waits.
        """
        if self._image:
            self._load(self._image)
        self._start()

    def _start(self) -> None:
        self._begin()
        wait_until(self._is_up, lambda: f"the engine to answer:\n{self.log.read_text()[-4000:]}")

    def stop(self) -> None:
        """Stops only the engine, as `systemctl stop docker` does. Its containers go on if `live_restore` is
        set.
        """
        self._end_engine(signal.SIGTERM)

    def kill(self) -> None:
        """Ends only the engine, with SIGKILL. The processes in its containers go on."""
        self._end_engine(signal.SIGKILL)

    def restart(self) -> None:
        self.stop()
        self.start()

    def lose(self) -> None:
        """Ends the whole machine with all its processes. Afterwards its address does not answer."""
        if self._machine is None:
            return
        os.kill(self._pid, signal.SIGKILL)
        self._machine.communicate()
        self._machine = None
        # The kernel removes the interface too, but later.
        subprocess.run(["ip", "link", "delete", self._interface], stderr=subprocess.DEVNULL, check=False)
        if self._engine:
            self._engine.wait()
            self._engine = None

    def boot_again(self) -> None:
        """Starts the machine and its engine again after `lose`. The disk is kept; no process is."""
        self.boot()
        self.start()

    def _load(self, image: str) -> None:
        """Stores the image in the data of the engine. This must happen before the first start, because an
        engine reads its data only when it starts.
        """
        self._image = None
        with stored_image(image) as stored:
            if stored.is_dir():
                link_image(stored, self._data)
                return
            self._start()
            with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as saved:
                command = ["docker", "--host", self.url, "load"]
                subprocess.run(command, stdin=saved.stdout, stdout=subprocess.DEVNULL, check=True)
            assert saved.returncode == 0
            # A running engine may still be removing files of the load while they are copied.
            self.stop()
            keep_image(self._data, stored)

    def _connect(self) -> None:
        here, there = self._interface, f"{self._interface}m"
        _ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", str(self._pid))
        _ip("address", "add", f"{self.address_of_ours}/30", "dev", here)
        _ip("link", "set", here, "up")
        for command in (
            ["address", "add", f"{self.address}/30", "dev", there],
            ["link", "set", there, "up"],
            ["link", "set", "lo", "up"],
            ["route", "add", "default", "via", self.address_of_ours],
        ):
            subprocess.run([*self.inside, "ip", *command], check=True)

    def _bound_memory(self) -> None:
        for controller, limit in (("memory", "memory.limit_in_bytes"), ("", "memory.max")):
            group = _CGROUPS / controller
            if (group / "cgroup.procs").exists():
                (group / self._name).mkdir(exist_ok=True)
                (group / self._name / limit).write_text(str(self._memory_bytes))
                return
        raise AssertionError("this machine's control groups do not limit memory")

    def _command(self) -> Sequence[str]:
        settings = self._folder / "daemon.json"
        settings.write_text(json.dumps({"live-restore": self._live_restore}))
        return [
            "dockerd",
            f"--config-file={settings}",
            f"--host={self.url}",
            f"--data-root={self._data}",
            f"--exec-root={self._folder / 'exec'}",
            f"--pidfile={self._folder / 'dockerd.pid'}",
            f"--cgroup-parent=/{self._name}",
            "--log-level=warn",
        ]

    def _begin(self) -> None:
        with self.log.open("ab") as log:
            self._engine = subprocess.Popen(
                [*self.inside, *self._command()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _is_up(self) -> bool:
        assert self._engine is not None
        if self._engine.poll() is not None:
            for path in self._folder.glob("*.pid"):
                path.unlink()
            self._begin()
        # Without a library: the Docker SDK and HTTP libraries leave a socket open if the engine does not
        # answer.
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(PATIENCE_SECONDS)
            try:
                asking.connect(self.url.removeprefix("unix://"))
                asking.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
                return b" 200 " in asking.recv(1024)
            except OSError:
                return False

    def _end_engine(self, number: signal.Signals) -> None:
        assert self._engine is not None
        # The process id as the simulated machine counts it.
        pid = (self._folder / "dockerd.pid").read_text().strip()
        subprocess.run([*self.inside, "kill", f"-{number.value}", pid], check=True)
        self._engine.wait()
        self._engine = None

    def _remove(self) -> None:
        self.lose()
        for controller in [_CGROUPS, *_CGROUPS.iterdir()]:
            _remove_group(controller / self._name)
        _remove_beside_the_tests(self._folder)
        self._reservation.close()


_removals: list[subprocess.Popen[bytes]] = []


def _remove_beside_the_tests(folder: Path) -> None:
    """Deletes the folder in a background process, because it has many thousand files.

    At its end, this process waits for deletions that still run.
    """
    renamed = folder.with_name(f"{folder.name}-removed")
    folder.rename(renamed)
    if not _removals:
        atexit.register(lambda: [each.wait() for each in _removals])
    _removals.append(subprocess.Popen(["rm", "-rf", "--", renamed]))


def _reserved_network() -> tuple[str, IO[str]]:
    """Returns the first three numbers of an unused IPv4 network, and the locked file that reserves the
    network.

    The addresses are visible only after the machine has booted, so a lock reserves the network until then.
    The lock ends with this process.
    """
    taken = subprocess.check_output(["ip", "-4", "address"], text=True)
    while True:
        # A range for tests of networks, which is not used on the internet.
        network = f"198.{random.choice([18, 19])}.{random.randrange(256)}"  # noqa: S311
        if f"{network}." in taken:
            continue
        lock = (Path(tempfile.gettempdir()) / f"slipway-network-{network}").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        return network, lock


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


def _line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline().strip()


def _remove_group(group: Path) -> None:
    """Removes a control group and its subgroups, the deepest first.

    Waits, because the kernel needs a moment to notice that the processes of the group have ended.
    """
    if not group.is_dir():
        return

    def is_gone() -> bool:
        for directory, _, _ in os.walk(group, topdown=False):
            try:
                Path(directory).rmdir()
            except OSError:
                return False
        return True

    wait_until(is_gone, lambda: f"{group} to be empty")
