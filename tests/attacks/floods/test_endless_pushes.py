"""While a push with an endless list of commits is read, requests of other users are answered."""

import asyncio
import time
from collections.abc import AsyncIterator

import httpx
import pytest

from app_server.git_proxy.commands import MAX_LIST_BYTES, MAX_SHALLOW_LINES, read_commands
from app_server.git_proxy.pkt_line import FLUSH, ProtocolError, Reader, encode, lines_of
from app_server.git_proxy.push_report import MAX_REPORT_BYTES, ReportReader
from tests.app_server.git_proxy.conftest import Sandbox

SHALLOW = encode(b"shallow " + b"a" * 40)
FLOOD_BYTES = 4 * 1024**2
PIECE_BYTES = 64 * 1024
MAX_WAIT_SECONDS = 8.0
"""The longest time that another request may wait or a reading may take. A busy machine needs a part of it.
Reading in quadratic time would take half a minute.
"""


async def flood() -> AsyncIterator[bytes]:
    lines = SHALLOW * (FLOOD_BYTES // len(SHALLOW))
    for at in range(0, len(lines), PIECE_BYTES):
        yield lines[at : at + PIECE_BYTES]


async def test_others_are_answered_while_a_push_without_end_is_read(sandbox: Sandbox) -> None:
    waits: list[float] = []

    async def ask_again_and_again(client: httpx.AsyncClient) -> None:
        while True:
            began = time.perf_counter()
            assert (await client.get(f"{sandbox.inner_url}/health")).status_code == 200
            waits.append(time.perf_counter() - began)

    async with httpx.AsyncClient(timeout=120) as other, httpx.AsyncClient(timeout=120) as attacker:
        asking = asyncio.create_task(ask_again_and_again(other))
        reply = await attacker.post(
            f"{sandbox.url()}/git-receive-pack", content=flood(), headers={"X-Session-API-Key": sandbox.key}
        )
        asking.cancel()
    assert f"ends at more than {MAX_SHALLOW_LINES} commits" in reply.text
    assert waits
    assert max(waits) < MAX_WAIT_SECONDS


async def test_reading_takes_time_in_proportion_to_the_bytes() -> None:
    reader = Reader(flood())
    began = time.process_time()
    for _ in range(FLOOD_BYTES // len(SHALLOW)):
        await reader.line()
    assert time.process_time() - began < MAX_WAIT_SECONDS


@pytest.mark.parametrize("end", [b"", b"\n"])
async def test_many_lines_of_a_shallow_clone_take_few_turns_of_the_loop(end: bytes) -> None:
    lines = encode(b"shallow " + b"a" * 40 + end) * MAX_SHALLOW_LINES

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(lines), PIECE_BYTES):
            yield lines[at : at + PIECE_BYTES]
        yield FLUSH

    read = 0

    class Counted(Reader):
        async def line(self) -> bytes | None:
            nonlocal read
            read += 1
            return await super().line()

    await read_commands(Counted(pieces()))
    assert read < 3 * len(lines) / PIECE_BYTES + 3


@pytest.mark.parametrize(
    ("line", "count"),
    [
        (SHALLOW, MAX_SHALLOW_LINES + 1),
        (encode(b"shallow " + b"a" * 40 + b"\n" * 60_000), MAX_LIST_BYTES // 60_000 + 1),
    ],
    ids=["many lines", "long lines"],
)
async def test_a_list_is_given_up_before_it_ends(line: bytes, count: int) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(count):
            yield line
        raise AssertionError("more was read than a list may hold")

    with pytest.raises(ProtocolError):
        await read_commands(Reader(pieces()))


def test_a_report_of_many_short_lines_is_read_in_time() -> None:
    lines = encode(b"\x01" + encode(b"x")) * (MAX_REPORT_BYTES // 10)
    reader = ReportReader(has_sideband=True)
    began = time.process_time()
    reader.feed(lines)
    assert reader.outcomes() == {}
    assert sum(1 for _ in lines_of(lines)) == MAX_REPORT_BYTES // 10
    assert time.process_time() - began < MAX_WAIT_SECONDS
