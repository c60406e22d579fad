"""Clients that read the event stream of a conversation: many, reconnecting, or not reading at all."""

import asyncio
import json
import random
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.agent_runtime.server.conftest import message, start_request
from tests.support.agent_server import KEY, AgentServer
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import Request, ScriptedLLM, Turn, call, calls

RECONNECTS = 1_000
STEPS = 300
PER_STEP = 7
READERS = 100
# More data than the 16 MB that the server buffers and what the kernel buffers.
MESSAGES = 60
EVERYTHING = 10**9


def watch(server: AgentServer, conversation: str, after_seq: int, **options: Any) -> connect:
    # The client's queue is unbounded: with a bound, an early close would wait until the queue is read.
    options = {"max_queue": None, "proxy": None, "compression": None, **options}
    url = f"{server.ws_url}/sockets/session/{conversation}?after_seq={after_seq}"
    return connect(
        url, additional_headers={"X-Session-API-Key": KEY}, **options, open_timeout=PATIENCE_SECONDS
    )


async def durable(reader: ClientConnection, *, after: int, through: int) -> list[dict[str, Any]]:
    """Reads and returns the durable frames after the position `after`, up to `through` or to the end of the
    run.

    Checks that no position is missing.
    """
    found: list[dict[str, Any]] = []
    at = after
    while at < through and not (found and is_last(found[-1])):
        frame = json.loads(await asyncio.wait_for(reader.recv(), timeout=PATIENCE_SECONDS))
        if frame["type"] == "durable":
            found.append(frame)
            at = frame["seq"]
    assert [frame["seq"] for frame in found] == list(range(after + 1, at + 1))
    return found


def is_last(frame: dict[str, Any]) -> bool:
    return bool(frame["event"].get("value") == "finished")


class Pace:
    """A model that makes one step after a number of connections, so that the run lasts as long as the
    connections.
    """

    def __init__(self, connections_per_step: int, steps: int = STEPS) -> None:
        self._per_step = connections_per_step
        self._steps = steps
        self._connections = 0
        self._changed = threading.Condition()

    def connected(self, times: int = 1) -> None:
        with self._changed:
            self._connections += times
            self._changed.notify_all()

    def answer(self, request: Request) -> Turn:
        done = sum(one["role"] == "tool" for one in request.messages)
        with self._changed:
            assert self._changed.wait_for(
                lambda: self._connections >= done * self._per_step, timeout=PATIENCE_SECONDS
            )
        return (
            call("finish", message="done")
            if done >= self._steps
            else calls(("think", {"thought": str(done)}))
        )


def start(server: AgentServer, llm: ScriptedLLM, path: Path) -> str:
    server.start()
    body = start_request(llm, path, "Go.", stuck_detection=False)
    return str(server.call("POST", "/api/conversations", json=body)["id"])


async def test_a_thousand_connections_at_random_positions_see_the_log_without_gap_or_repetition(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    chance = random.Random(1871)  # noqa: S311 (a test that can be repeated)
    pace = Pace(PER_STEP)
    scripted_llm.fallback = pace.answer
    conversation = start(own_server, scripted_llm, tmp_path)
    seen: dict[int, dict[str, Any]] = {}

    for _ in range(RECONNECTS):
        reached = max(seen, default=0)
        # Half of the connections continue after the newest event seen, the others begin at a random position.
        after = reached if chance.random() < 0.5 else chance.randint(0, reached)
        async with watch(own_server, conversation, after) as reader:
            sync = json.loads(await reader.recv())
            assert sync["from_seq"] == after + 1
            through = min(after + chance.randint(1, 12), sync["through_seq"])
            if chance.random() < 0.2:
                pace.connected(PER_STEP)
                through = sync["through_seq"] + 1  # at least one event arrives live
            pace.connected()
            if not any(map(is_last, seen.values())) or through <= sync["through_seq"]:
                for frame in await durable(reader, after=after, through=through):
                    assert seen.setdefault(frame["seq"], frame) == frame

    pace.connected(PER_STEP * STEPS)
    async with watch(own_server, conversation, min(seen)) as reader:
        for frame in await durable(reader, after=min(seen), through=EVERYTHING):
            assert seen.setdefault(frame["seq"], frame) == frame
    log = own_server.events(conversation)
    assert [seen[seq]["event"] for seq in sorted(seen)] == log
    assert sorted(seen) == list(range(1, len(log) + 1))


async def test_a_hundred_readers_of_one_conversation_all_get_all_of_it(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    pace = Pace(READERS // 30, steps=30)
    scripted_llm.fallback = pace.answer
    conversation = start(own_server, scripted_llm, tmp_path)

    async def read() -> list[dict[str, Any]]:
        async with watch(own_server, conversation, 0) as reader:
            pace.connected()
            return await durable(reader, after=0, through=EVERYTHING)

    everybody = await asyncio.gather(*(read() for _ in range(READERS)))

    log = own_server.events(conversation)
    for frames in everybody:
        assert [frame["event"] for frame in frames] == log


async def test_a_reader_that_never_reads_delays_no_other_reader_and_is_disconnected(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.start()
    conversation = own_server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))[
        "id"
    ]
    deaf = socket.socket()
    # Set before connecting: otherwise the kernel chooses a large buffer.
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.connect(("127.0.0.1", own_server.port))
    async with (
        watch(own_server, conversation, 0, sock=deaf, max_queue=1, ping_interval=None) as lazy,
        watch(own_server, conversation, 0) as keen,
    ):
        before, frames = resident_bytes(own_server), list[dict[str, Any]]()
        text = "x" * 500_000
        path = f"/api/conversations/{conversation}/events"
        for number in range(MESSAGES):
            await asyncio.to_thread(own_server.call, "POST", path, json=message(text))
            # The log has the system prompt before the first message.
            frames += await durable(keen, after=len(frames), through=number + 2)
        grown = resident_bytes(own_server) - before

        # Only now the lazy client reads.
        with pytest.raises(ConnectionClosed):
            await asyncio.wait_for(_read_all(lazy), timeout=PATIENCE_SECONDS)

    assert [frame["event"] for frame in frames] == own_server.events(conversation)
    assert lazy.close_code == 1013
    # The conversation itself keeps the messages for the model; a reader may add at most its bounded queue.
    assert grown < 3 * MESSAGES * len(text) + 16 * 2**20


async def _read_all(reader: ClientConnection) -> None:
    while True:
        await reader.recv()


def resident_bytes(server: AgentServer) -> int:
    assert server.process is not None
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * 4096
