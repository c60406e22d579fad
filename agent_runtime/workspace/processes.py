"""Runs programs so that not only the program itself but also all processes that it starts can be ended."""

import asyncio
import logging
import os
import signal
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent_runtime.time_limits import time_limit
from agent_runtime.workspace.signals import pids, signal_group_of
from agent_runtime.workspace.users import start_process

_PIECE_BYTES = 64 * 1024
_END_SECONDS = 10.0
_ROUNDS = 40
_ROUND_SECONDS = 0.05

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Completed:
    exit_code: int
    stdout: bytes
    stderr: bytes


async def run_program(
    *arguments: str | Path,
    cwd: Path,
    environment: Mapping[str, str],
    timeout_seconds: float,
    stdin: bytes = b"",
    max_output_bytes: int | None = None,
) -> Completed:
    """Runs a program, waits for its end and returns its result. Raises TimeoutError if the program does not
    end in time. In this case, or if the caller is cancelled, kills all processes of the program's group and
    closes its output.

    `max_output_bytes`: the limit for each stream; output after this limit is dropped. None means no limit.
    """
    # A file instead of a pipe: a program may end without reading its input, which would break a pipe.
    with tempfile.TemporaryFile() as source:
        source.write(stdin)
        source.seek(0)
        start = start_process(
            *arguments,
            stdin=source,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=environment,
            start_new_session=True,
        )
        process = await _started(asyncio.create_task(start, name="start a program"))
    try:
        async with time_limit(timeout_seconds):
            if max_output_bytes is None:
                stdout, stderr = await process.communicate()
            else:
                stdout, stderr = await _communicate(process, max_output_bytes)
    except BaseException:
        await _end(process)
        raise
    return Completed(await process.wait(), stdout, stderr)


async def _started(starting: asyncio.Task[asyncio.subprocess.Process]) -> asyncio.subprocess.Process:
    """Waits for the start of the process and returns the process. If the caller is cancelled, waits until the
    process has started and then ends it, because an interrupted start could leave a running program behind.
    """
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.wait({starting})
        if not starting.exception():
            await _end(starting.result())
        raise


async def _end(process: asyncio.subprocess.Process) -> None:
    # Also when the program itself has ended: what it has started may still hold its output open.
    signal_group_of(process, signal.SIGKILL)
    # An open pipe could outlive the event loop that reads it. A program that has left the group may hold it
    # for any time.
    with suppress(TimeoutError):
        async with time_limit(_END_SECONDS):
            await process.communicate()


async def _communicate(process: asyncio.subprocess.Process, max_bytes: int) -> tuple[bytes, bytes]:
    assert process.stdout is not None
    assert process.stderr is not None
    stdout, stderr = await asyncio.gather(_head(process.stdout, max_bytes), _head(process.stderr, max_bytes))
    return stdout, stderr


async def _head(stream: asyncio.StreamReader, max_bytes: int) -> bytes:
    """Returns the first `max_bytes` of the stream. Also reads and drops the rest, because the program would
    otherwise wait for ever.
    """
    head = bytearray()
    while piece := await stream.read(_PIECE_BYTES):
        head += piece[: max_bytes - len(head)]
    return bytes(head)


def end_marked(marks: Mapping[str, str | None]) -> None:
    """Ends all processes, except the current one, that were started with certain environment variables.
    `marks`: the variables with their values. A value of None means that the variable must be missing.

    Finds these processes even if they have moved to another session, or if their parent process has ended.
    Blocks until the processes have ended, at most two seconds.
    """
    for _ in range(_ROUNDS):  # one may start another while it is looked for
        found = [pid for pid in pids() if pid != os.getpid() and _has(pid, marks)]
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(_ROUND_SECONDS)
    logger.warning("processes cannot be ended", extra={"pids": found})


def variables_of(pid: int) -> Mapping[str, str]:
    """Returns the environment variables that the process was started with. Returns an empty mapping if the
    process has ended or belongs to another user.
    """
    try:
        text = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return {}
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)


def _has(pid: int, marks: Mapping[str, str | None]) -> bool:
    variables = variables_of(pid)
    return bool(variables) and all(variables.get(name) == value for name, value in marks.items())
