"""Measures how much memory live conversations use. Each conversation has run one command, so that its shell
is running.
"""

from collections.abc import Iterator

from benchmarks import process
from benchmarks.figures import Figure
from benchmarks.kit import Kit
from benchmarks.server import Server

STAGES = (1, 5, 20)


def measure(kit: Kit) -> Iterator[Figure]:
    idle: list[float] = []
    held: dict[int, list[float]] = {stage: [] for stage in STAGES}
    for _ in kit.runs(peer=3):
        with kit.server() as server:
            idle.append(process.memory_mib(server.pids))
            for stage, before in zip(STAGES, (0, *STAGES), strict=False):
                for _conversation in range(before, stage):
                    _work(kit, server)
                held[stage].append(process.memory_mib(server.pids))
    yield Figure("memory, idle", "MiB", idle)
    for stage in STAGES:
        yield Figure(f"memory, {stage} live", "MiB", held[stage])
    added = [(last - first) / (STAGES[-1] - STAGES[0]) for first, last in zip(held[1], held[20], strict=True)]
    yield Figure("memory per added conversation", "MiB", added)


def _work(kit: Kit, server: Server) -> None:
    script = kit.model.script(steps=1)
    conversation = server.create(script, text="Go.")
    script.wait_for_end()
    server.wait_for_status(conversation, "finished")
