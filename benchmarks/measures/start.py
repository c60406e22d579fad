"""Measures the start of the server, until the first successful reply to /health."""

from collections.abc import Iterator

from benchmarks import process
from benchmarks.figures import Figure
from benchmarks.kit import Kit


def measure(kit: Kit) -> Iterator[Figure]:
    cpu, wall, resident = [], [], []
    # The first start compiles and fills the page cache.
    kit_runs = [-1, *kit.runs()]
    for run in kit_runs:
        server = kit.server()
        seconds = server.start()
        if run >= 0:
            wall.append(seconds)
            cpu.append(server.cpu_seconds())
            resident.append(process.resident_mib(server.pid))
        server.kill()
    yield Figure("start, CPU", "s", cpu)
    yield Figure("start, wall", "s", wall)
    yield Figure("start, resident", "MiB", resident)
