"""How much it takes until each server answers /health: CPU seconds, wall seconds, resident memory.

    .venv/bin/python -m benchmarks.startup [RUNS]

The first run is left out: it compiles, migrates and fills the page cache.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import httpx

from app_server.headless.server_process import free_ports

TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class Start:
    cpu_seconds: float
    wall_seconds: float
    resident_mib: float


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory(prefix="slipway-bench-") as directory:
        for name, measure in (("agent server", agent_server), ("app server", app_server)):
            starts = [measure(Path(directory)) for _ in range(runs + 1)][1:]
            print(f"{name:<14}{_spread('cpu s', [start.cpu_seconds for start in starts])}", end="")
            print(f"{_spread('wall s', [start.wall_seconds for start in starts])}", end="")
            print(_spread("MiB", [start.resident_mib for start in starts]))


def agent_server(home: Path) -> Start:
    (port,) = free_ports(1)
    environment = {"OH_CONVERSATIONS_PATH": str(home / "c"), "OH_WORKSPACE_PATH": str(home / "w")}
    command = ["-m", "agent_runtime.server", "--host", "127.0.0.1", "--port", str(port)]
    return _measure(command, {**environment, "OH_SESSION_API_KEYS_0": "benchmark"}, port)


def app_server(home: Path) -> Start:
    port, inner_port = free_ports(2)
    command = ["-m", "app_server", "serve", "--port", str(port), "--inner-port", str(inner_port)]
    return _measure([*command, "--sandbox", "process", "--home", str(home / "home")], {}, port)


def _measure(command: list[str], environment: dict[str, str], port: int) -> Start:
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *command],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for_health(port)
        wall = time.monotonic() - began
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    finally:
        process.terminate()
        process.wait(timeout=TIMEOUT_SECONDS)
    return Start(
        cpu_seconds=ticks / os.sysconf("SC_CLK_TCK"),
        wall_seconds=wall,
        resident_mib=pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
    )


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
    return f"  {unit}: {min(values):.2f} / {statistics.median(values):.2f} / {max(values):.2f}"


if __name__ == "__main__":
    main()
