"""Finds the running server of a Slipway home directory (the directory with the server's data), or starts a
server for one task from the command line.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

START_TIMEOUT_SECONDS = 60.0
STOP_TIMEOUT_SECONDS = 30.0


class ServerDidNotStart(Exception):
    """The error that is raised if the new server has ended or did not reply in time. The message contains the
    last output of the server.
    """


@contextmanager
def server_of(home: Path, sandbox: str | None) -> Iterator[str]:
    """Yields the base URL of a server for the home directory `home`, which contains the server's data.

    `sandbox`: the kind of sandboxes that the server must use, such as containers. If it is None and a server
    of `home` is already running, yields the URL of this server. Otherwise starts a new server, and stops it
    at the end of the `with` block. If a kind is given, a new server is always started, because the kind of a
    running server cannot be changed.
    """
    running = _running_server(home) if sandbox is None else None
    if running:
        yield running
        return
    with _started_server(home, sandbox or "auto") as url:
        yield url


def _running_server(home: Path) -> str | None:
    try:
        url = str(json.loads((home / "server.json").read_text())["url"])
        return url if httpx.get(f"{url}/health", timeout=5).is_success else None
    except (FileNotFoundError, httpx.TransportError):
        return None


@contextmanager
def _started_server(home: Path, sandbox: str) -> Iterator[str]:
    with reserved_ports(2) as (port, inner_port), tempfile.TemporaryFile("w+b") as log:
        # The environment names the rest, so that `slipway run` honours SLIPWAY_* like `slipway serve` does.
        environment = {
            **os.environ,
            "SLIPWAY_HOME": str(home),
            "SLIPWAY_HOST": "127.0.0.1",
            "SLIPWAY_PORT": str(port),
            "SLIPWAY_INNER_PORT": str(inner_port),
            "SLIPWAY_SANDBOX": sandbox,
            # Everything that this run starts ends with it.
            "SLIPWAY_STOP_SANDBOXES_ON_EXIT": "true",
        }
        command = [sys.executable, "-m", "app_server", "serve"]
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_healthy(process, url, log.fileno())
            yield url
        finally:
            _stop(process)


def _wait_until_healthy(process: subprocess.Popen[bytes], url: str, log: int) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/health", timeout=5).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    tail = os.pread(log, 64 * 1024, 0).decode(errors="replace")[-4000:]
    raise ServerDidNotStart(f"The server did not start. Its last output:\n{tail}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_ports(count: int) -> list[int]:
    """Returns different ports of the loopback address (127.0.0.1) that no program uses now. Another program
    may open one of these ports before the caller opens it.
    """
    with reserved_ports(count) as ports:
        return ports


@contextmanager
def reserved_ports(count: int) -> Iterator[list[int]]:
    """Yields different ports of the loopback address (127.0.0.1) that no program uses. On Linux, the kernel
    gives them to no other program while the `with` block runs, except to a server that sets SO_REUSEADDR and
    asks for exactly this port, such as the app server. On other systems, they are not reserved.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in sockets]
        if sys.platform != "linux":
            stack.close()
        yield ports
