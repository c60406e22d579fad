"""Measures a command that prints ten megabytes: the time, the CPU time and how much of the output is kept."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.kit import Kit
from benchmarks.server import Server

SIZE = 10_000_000
COMMAND = f"yes 'All work and no play makes Jack a dull boy.' | head -c {SIZE}"


def measure(kit: Kit) -> Iterator[Figure]:
    taken, kept, cpu = [], [], []
    with kit.server() as server:
        for _ in kit.runs():
            before = server.cpu_seconds()
            action, observation = _print(kit, server)
            cpu.append(1000 * (server.cpu_seconds() - before))
            moments = [datetime.fromisoformat(event["timestamp"]) for event in (action, observation)]
            taken.append(1000 * (moments[1] - moments[0]).total_seconds())
            kept.append(_kept_bytes(observation) / SIZE)
    yield Figure("10 MB of output", "ms", taken)
    yield Figure("10 MB of output, CPU", "ms", cpu)
    yield Figure("10 MB of output, kept", "", kept)


def _print(kit: Kit, server: Server) -> tuple[dict[str, Any], dict[str, Any]]:
    # A first command starts the shell.
    script = kit.model.script(steps=2, command=f"case {{step}} in 1) {COMMAND} ;; esac")
    conversation = server.create(script, text="Go.")
    script.wait_for_end()
    server.wait_for_status(conversation, "finished")
    events = server.get(f"/api/conversations/{conversation}/events/search", limit=100)["items"]
    observations = [e for e in events if e["kind"] == "ObservationEvent" and e["tool_name"] == "terminal"]
    actions = {event["id"]: event for event in events if event["kind"] == "ActionEvent"}
    return actions[observations[1]["action_id"]], observations[1]


def _kept_bytes(observation: dict[str, Any]) -> int:
    """Returns how many bytes of the command's output can still be read, either in the event or in the file
    that the event names. The larger of the two numbers is returned.
    """
    event = observation["observation"]
    texts = [len(part.get("text", "")) for part in event["content"]]
    directory = event.get("full_output_save_dir")
    files = Path(directory).glob("*") if directory else ()
    return max(*texts, *(file.stat().st_size for file in files), 0)
