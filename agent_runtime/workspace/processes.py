"""Running programs so that all they start can be ended, not only the one process we know."""

import asyncio
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


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
) -> Completed:
    """The program's result. TimeoutError, like cancellation, leaves no process of its group behind."""
    process = await asyncio.create_subprocess_exec(
        *arguments,
        # No pipe for nothing: under uvloop writing even b"" to a program that has ended already is an error.
        stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=cwd,
        env=environment,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(timeout_seconds):
            stdout, stderr = await process.communicate(stdin or None)
    finally:
        if process.returncode is None:
            signal_group(process.pid, signal.SIGKILL)
            await process.wait()
    return Completed(await process.wait(), stdout, stderr)


def signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:  # ended by itself meanwhile
        return


def signal_session(session: int, number: signal.Signals) -> None:
    """Signals every process of the session, whatever group of it they are in."""
    for pid in _session_members(session):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _session_members(session: int) -> list[int]:
    try:
        pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    except FileNotFoundError:  # no /proc here: the shell hands a hang-up on to its jobs
        pids = [session]
    return [pid for pid in pids if _session_of(pid) == session]


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None
