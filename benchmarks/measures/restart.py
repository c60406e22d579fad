"""Measures a long conversation after the server was killed and started again: the time for the first page of
events, for further pages, and until the first model request.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.figures import Figure
from benchmarks.kit import Kit
from benchmarks.script import Script
from benchmarks.server import Server

SIZES = (1000, 10_000)
PAGES_PER_RUN = 20


def measure(kit: Kit) -> Iterator[Figure]:
    for size in SIZES[:1] if kit.is_quick else SIZES:
        server = kit.server()
        script = kit.model.script(steps=0)
        try:
            server.start()
            other = _fill(server, script, 1)
            conversation = _fill(server, script, size)
            yield from _after_restarts(kit, server, script, conversation, other, size)
        finally:
            server.kill()


def _fill(server: Server, script: Script, size: int) -> str:
    """Creates a conversation, sends `size` messages of a user to it, and returns the conversation's id. The
    messages are sent through the server's API, because the benchmark compares two products that store
    messages in different formats.
    """
    conversation = server.create(script)
    for number in range(size):
        server.send(conversation, f"Message number {number}: {'lorem ipsum ' * 20}", run=False)
    return conversation


def _after_restarts(
    kit: Kit, server: Server, script: Script, conversation: str, other: str, size: int
) -> Iterator[Figure]:
    events = _events(conversation)
    last = {"sort_order": "TIMESTAMP_DESC"}
    wanted: dict[str, dict[str, Any]] = {
        "first page": {},
        "last page": last,
        "page of one kind": {"kind": "MessageEvent", **last},
        "page of a kind that is not there": {"kind": "PauseEvent"},
        "page with a text": {"body": f"number {size - 1}:"},
    }
    cold, resumed = [], []
    pages: dict[str, list[float]] = {name: [] for name in wanted}
    for _ in kit.runs(peer=3):
        _restart(server, other)
        cold.append(_milliseconds(lambda: server.get(events, limit=100)))
        for name, params in wanted.items():
            pages[name] += _page_times(server, events, params)
        _restart(server, other)
        resumed.append(_resume(server, script, conversation))
    yield Figure(f"first page of a cold log, {size} events", "ms", cold)
    yield Figure(f"resume to first request, {size} events", "ms", resumed)
    for name, times in pages.items():
        yield Figure(f"{name}, {size} events", "ms", times)


def _events(conversation: str) -> str:
    return f"/api/conversations/{conversation}/events/search"


def _restart(server: Server, other: str) -> None:
    server.kill()
    server.start()
    # What a server does once, at its first page of whatever conversation, is not asked about.
    server.get(_events(other))


def _resume(server: Server, script: Script, conversation: str) -> float:
    asked_before = len(script.times().asked)
    began = time.monotonic()
    server.send(conversation, "Go.")
    asked = script.wait_for(asked_before).asked[asked_before]
    server.wait_for_status(conversation, "finished", "idle")
    return 1000 * (asked - began)


def _page_times(server: Server, path: str, params: dict[str, Any]) -> list[float]:
    return [_milliseconds(lambda: server.get(path, limit=100, **params)) for _ in range(PAGES_PER_RUN)]


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return 1000 * (time.monotonic() - began)
