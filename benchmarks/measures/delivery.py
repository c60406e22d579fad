"""Measures the time from the model's answer until a client receives the event on a WebSocket."""

import time
from collections.abc import Iterator

import orjson
from websockets.sync.client import connect

from benchmarks.figures import Figure, quantile
from benchmarks.kit import Kit
from benchmarks.model import call_id
from benchmarks.server import KEY, Server

STEPS = 100


def measure(kit: Kit) -> Iterator[Figure]:
    medians, slowest = [], []
    with kit.server() as server:
        for _ in kit.runs():
            taken = _taken(kit, server)
            medians.append(1000 * quantile(taken, 0.5))
            slowest.append(1000 * quantile(taken, 0.99))
    yield Figure("answer to event, median", "ms", medians)
    yield Figure("answer to event, p99", "ms", slowest)


def _taken(kit: Kit, server: Server) -> list[float]:
    script = kit.model.script(steps=STEPS)
    conversation = server.create(script)
    arrived: dict[str, float] = {}
    url = f"ws://127.0.0.1:{server.port}/sockets/events/{conversation}"
    headers = {"X-Session-API-Key": KEY}
    with connect(url, additional_headers=headers, max_queue=None, proxy=None) as socket:
        server.send(conversation, "Go.")
        while call_id(script.key, STEPS - 1) not in arrived:
            text = socket.recv()
            moment = time.monotonic()
            event = orjson.loads(text)
            if event["kind"] == "ActionEvent":
                arrived[event["tool_call_id"]] = moment
    script.wait_for_end()
    answered = script.times().answered
    return [arrived[call_id(script.key, step)] - answered[step] for step in range(STEPS)]
