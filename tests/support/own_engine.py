"""A Docker engine of a test's own: a machine beside this one, as far as it can tell.

In namespaces of its own (network, mounts, processes), so that whatever runs there ends with it, and with a
limit on the memory of its containers.

with OwnEngine(memory_bytes=2 * 1024**3, image=sandbox_image()) as engine:
    engine.restart()                                # its containers live on: see `live_restore`
    subprocess.Popen([*engine.inside, "program"])   # on that machine, with this one's files
    engine.lose()                                   # the whole machine, as when its power goes
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

from tests.support.engine_images import keep_image, link_image, stored_image
from tests.support.patience import PATIENCE_SECONDS
from tests.support.sandbox_image import sandbox_image
from tests.support.server import wait_until

_CGROUPS = Path("/sys/fs/cgroup")
# The first process of the machine: whoever loses a parent there becomes its child, and is reaped.
_INIT = """
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("up", flush=True)
while True:
    signal.pause()
"""


class OwnEngine:
    """`memory_bytes`: what all of its containers may have together. `live_restore`: whether they live on
    while the engine is stopped. `image`: one of this machine's engine that it has from the beginning.
    `address`: of that machine, as this one reaches it; `address_of_ours`: the other way.
    """

    def __init__(
        self, *, memory_bytes: int = 4 * 1024**3, live_restore: bool = False, image: str | None = None
    ) -> None:
        self._name = f"slipway-test-{uuid4().hex[:8]}"
        # Not among the test's own files: the paths of sockets have to be short.
        self._folder = Path(tempfile.mkdtemp(prefix="slipway-engine-"))
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
        """Of ours, towards that machine."""
        return f"v{self._name[-8:]}"

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def inside(self) -> list[str]:
        """What a command is to be begun with that runs on that machine."""
        return ["nsenter", f"--target={self._pid}", "--net", "--mount", "--pid", "--"]

    @property
    def on_its_network(self) -> list[str]:
        """As `inside`, for the network alone. The command has the process id it is begun with."""
        return ["nsenter", f"--target={self._pid}", "--net", "--"]

    def client(self) -> DockerClient:
        return DockerClient(base_url=self.url, version="auto", timeout=120)

    def boot(self) -> None:
        """The machine, without its engine. It ends with the thread that calls this: call it from one that
        stays.
        """
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
        """Begun anew when it gives up, as by a service manager: on a busy disk its containerd may take longer
        than it waits for that.
        """
        if self._image:
            self._load(self._image)
        self._start()

    def _start(self) -> None:
        self._begin()
        wait_until(self._is_up, lambda: f"the engine to answer:\n{self.log.read_text()[-4000:]}")

    def stop(self) -> None:
        """The engine alone, as `systemctl stop docker` does. Its containers live on if they are to."""
        self._end_engine(signal.SIGTERM)

    def kill(self) -> None:
        """The engine alone, with SIGKILL. What runs in its containers goes on."""
        self._end_engine(signal.SIGKILL)

    def restart(self) -> None:
        self.stop()
        self.start()

    def lose(self) -> None:
        """The whole machine ends, with all that runs on it; nothing answers at its address any more."""
        if self._machine is None:
            return
        os.kill(self._pid, signal.SIGKILL)
        self._machine.communicate()
        self._machine = None
        # The kernel takes it away too, but in its own time.
        subprocess.run(["ip", "link", "delete", self._interface], stderr=subprocess.DEVNULL, check=False)
        if self._engine:
            self._engine.wait()
            self._engine = None

    def boot_again(self) -> None:
        """After `lose`: with its disk, and nothing that ran."""
        self.boot()
        self.start()

    def _load(self, image: str) -> None:
        """Before the first start: an engine reads what it has only then."""
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
        # By hand: the SDK and HTTP libraries leave their end open where nobody answers.
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
        # As that machine counts its processes.
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
    """Many thousand files of images. What is left at the end of this process is waited for."""
    renamed = folder.with_name(f"{folder.name}-removed")
    folder.rename(renamed)
    if not _removals:
        atexit.register(lambda: [each.wait() for each in _removals])
    _removals.append(subprocess.Popen(["rm", "-rf", "--", renamed]))


def _reserved_network() -> tuple[str, IO[str]]:
    """The first three numbers of an unused network, and the locked file that reserves it.

    Its addresses are only seen once the machine has booted. The lock ends with this process, however it ends.
    """
    taken = subprocess.check_output(["ip", "-4", "address"], text=True)
    while True:
        # Networks for tests of networks: they lead nowhere on the internet.
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
    """Deepest first; the kernel needs a moment to see that its processes have gone."""
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


if __name__ == "__main__":
    # Stores the image of the tests for all engines of this machine that are to come.
    with OwnEngine(image=sandbox_image()):
        pass
