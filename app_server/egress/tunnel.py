"""Copies bytes in both directions between two connections, until both connections have ended."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent_runtime.time_limits import time_limit
from app_server.egress.pinned_connector import PinnedConnection

PIECE_BYTES = 64 * 1024
IDLE_SECONDS = 600.0


@dataclass
class Traffic:
    """The numbers of bytes that a sandbox has sent and received over one connection."""

    sent: int = 0
    received: int = 0


async def join(
    sandbox: PinnedConnection,
    world: PinnedConnection,
    traffic: Traffic,
    first_words: Callable[[], Awaitable[bytes]],
) -> None:
    """Copies data between two connections until both have ended: `sandbox`, from the program in the sandbox,
    and `world`, to the host. Adds the numbers of bytes to `traffic`.

    first_words: an async function that reads the first data of the sandbox, checks it and returns it. This
    data is then sent to the host. If the data is not allowed, the function raises an error, and `join` raises
    the same error. Raises OSError if a connection is lost. Raises TimeoutError after IDLE_SECONDS without
    data.
    """
    loop = asyncio.get_running_loop()
    async with time_limit(IDLE_SECONDS) as patience:

        def count(*, sent: int = 0, received: int = 0) -> None:
            traffic.sent += sent
            traffic.received += received
            patience.reschedule(loop.time() + IDLE_SECONDS)

        async def up() -> None:
            piece = await first_words()
            while piece:
                count(sent=len(piece))
                await _write(world, piece)
                piece = await sandbox.reader.read(PIECE_BYTES)
            _end(world)

        async def down() -> None:
            while piece := await world.reader.read(PIECE_BYTES):
                count(received=len(piece))
                await _write(sandbox, piece)
            _end(sandbox)

        await _both(asyncio.create_task(up()), asyncio.create_task(down()))


async def close(line: PinnedConnection) -> None:
    line.writer.close()
    try:
        await line.writer.wait_closed()
    except OSError:
        return  # the other side has already closed the connection


async def _both(*tasks: asyncio.Task[None]) -> None:
    """Waits until the tasks for both directions have ended. If one of them fails, cancels the other one and
    raises the error.
    """
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled():
            task.result()


async def _write(line: PinnedConnection, piece: bytes) -> None:
    line.writer.write(piece)
    await line.writer.drain()


def _end(line: PinnedConnection) -> None:
    if line.writer.can_write_eof():
        line.writer.write_eof()
