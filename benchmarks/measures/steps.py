"""Measures a long run of one conversation: the CPU time and the duration of each step, the duration of a
command in the terminal, and whether the last steps use as much CPU time as the first ones.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from benchmarks.figures import Figure, quantile
from benchmarks.kit import Kit
from benchmarks.script import Script
from benchmarks.server import Server

STEPS = 500
WINDOW = 50


def measure(kit: Kit) -> Iterator[Figure]:
    steps = 3 * WINDOW if kit.is_quick else STEPS
    cpu, wall, growth, commands = [], [], [], []
    # One run of the peer takes minutes.
    for _ in kit.runs(peer=1):
        with kit.server() as server:
            first, whole, last, seconds = _run(kit, server, steps)
            cpu.append(1000 * whole / steps)
            wall.append(1000 * seconds / steps)
            growth.append(last / first)
            commands.append(1000 * quantile(_command_seconds(server), 0.5))
    yield Figure("CPU per step", "ms", cpu)
    yield Figure("wall per step", "ms", wall)
    yield Figure("CPU per step, last 50 / first 50", "", growth)
    yield Figure("terminal `true`", "ms", commands)


def _run(kit: Kit, server: Server, steps: int) -> tuple[float, float, float, float]:
    """Runs a conversation with `steps` steps. A step before them, which starts the shell, is not measured.
    Returns the CPU seconds of the first 50 steps, of all steps and of the last 50 steps, and the wall seconds
    of all steps.
    """
    # The very first step starts the shell, and both ends are read while the server waits for the model.
    marks = [1, 1 + WINDOW, 1 + steps - WINDOW, 1 + steps]
    script = kit.model.script(steps=steps + 2, holds=marks)
    server.create(script, text="Go.")
    readings = [_reading(server, script, mark) for mark in marks]
    script.wait_for_end()
    times = script.times()
    seconds = times.asked[marks[-1]] - times.answered[marks[0]]
    # Where the driver held it back it did not work.
    held = sum(times.answered[mark] - times.asked[mark] for mark in marks[1:-1])
    return readings[1] - readings[0], readings[3] - readings[0], readings[3] - readings[2], seconds - held


def _reading(server: Server, script: Script, mark: int) -> float:
    script.wait_for(mark)
    used = server.cpu_seconds()
    script.release(mark)
    return used


def _command_seconds(server: Server) -> list[float]:
    """Returns, for each terminal command, the seconds from the tool call to its result. The times are the
    timestamps of the server's events.
    """
    (conversation,) = server.get("/api/conversations/search")["items"]
    begun: dict[str, datetime] = {}
    taken: list[float] = []
    for event in _events(server, conversation["id"]):
        moment = datetime.fromisoformat(event["timestamp"])
        if event["kind"] == "ActionEvent":
            begun[event["id"]] = moment
        elif event["kind"] == "ObservationEvent" and event["tool_name"] == "terminal":
            taken.append((moment - begun[event["action_id"]]).total_seconds())
    return taken


def _events(server: Server, conversation: str) -> Sequence[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    page_id = None
    while True:
        wanted = {"limit": 100} | ({"page_id": page_id} if page_id else {})
        page = server.get(f"/api/conversations/{conversation}/events/search", **wanted)
        found += page["items"]
        page_id = page["next_page_id"]
        if page_id is None:
            return found
