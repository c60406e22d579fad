"""Measures the start of the app server until it answers /health: CPU seconds, wall seconds and resident
memory.

    .venv/bin/python -m benchmarks.startup [RUNS]

A first run is left out, because it compiles Python code, migrates the database and fills the page cache.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import httpx

from app_server.headless.server_process import free_ports
from benchmarks import process

TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class Start:
    cpu_seconds: float
    wall_seconds: float
    resident_mib: float


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory(prefix="slipway-bench-") as directory:
        starts = [_start(Path(directory)) for _ in range(runs + 1)][1:]
    print(_spread("cpu s", [start.cpu_seconds for start in starts]), end="")
    print(_spread("wall s", [start.wall_seconds for start in starts]), end="")
    print(_spread("MiB", [start.resident_mib for start in starts]))


def _start(home: Path) -> Start:
    port, inner_port = free_ports(2)
    command = ["-m", "app_server", "serve", "--port", str(port), "--inner-port", str(inner_port)]
    began = time.monotonic()
    server = subprocess.Popen(
        [sys.executable, *command, "--sandbox", "process", "--home", str(home / "home")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for_health(port)
        wall = time.monotonic() - began
        return Start(process.cpu_seconds([server.pid]), wall, process.resident_mib(server.pid))
    finally:
        server.terminate()
        server.wait(timeout=TIMEOUT_SECONDS)


def _wait_for_health(port: int) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/health", timeout=2).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.005)
    raise TimeoutError(f"nothing answers on port {port}")


def _spread(unit: str, values: list[float]) -> str:
    return f"{unit}: {min(values):.2f} / {statistics.median(values):.2f} / {max(values):.2f}  "


if __name__ == "__main__":
    main()
