"""Runs the command `docker` and similar programs, and passes on each line of their output as soon as it is
written.
"""

import asyncio
import os
import shutil
import signal
import tempfile
from collections import deque
from contextlib import nullcontext, suppress
from typing import IO

from agent_runtime.time_limits import time_limit
from app_server.core.start_report import Report

MAX_OUTPUT_LINES = 60
MAX_LINE_BYTES = 1024**2


async def run_command(
    command: list[str],
    report: Report,
    timeout_seconds: float,
    *,
    stdin: bytes | IO[bytes] = b"",
    environment: dict[str, str] | None = None,
) -> tuple[int, str]:
    """Runs a command. Returns its exit status and the last lines of its output. Exit status 124 means that
    the command was killed after `timeout_seconds`.

    `report`: a function that is called with each line of the output as soon as the command writes the line.
    `stdin`: the input of the command. `environment`: environment variables that the command gets in addition
    to the environment variables of this process.
    """
    lines: deque[str] = deque(maxlen=MAX_OUTPUT_LINES)
    # From a file, not through a pipe: a program that ends without reading it is no error of ours.
    mortal = await asyncio.to_thread(_ending_with_us)
    given = await asyncio.to_thread(_file_with, stdin) if isinstance(stdin, bytes) else nullcontext(stdin)
    with given as source:
        process = await asyncio.create_subprocess_exec(
            *mortal,
            *command,
            env={**os.environ, **(environment or {})},
            stdin=source,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
            limit=MAX_LINE_BYTES,
        )
    try:
        async with time_limit(timeout_seconds):
            assert process.stdout
            async for raw in process.stdout:
                if line := raw.decode(errors="replace").rstrip():
                    lines.append(line)
                    report(line)
            return await process.wait(), "\n".join(lines)
    except TimeoutError:
        lines.append(f"(ended after {timeout_seconds:g} seconds)")
        return 124, "\n".join(lines)
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):  # it may have ended a moment ago
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def _ending_with_us() -> list[str]:
    """Returns the words that are put before a command, so that the kernel kills the command when the app
    server is killed. They call the program `setpriv`. Returns an empty list if `setpriv` is not installed.
    """
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []


def _file_with(content: bytes) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115 (the caller closes it)
    file.write(content)
    file.seek(0)
    return file
