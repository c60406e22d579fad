"""Signals to all that a command has started, not only to the one process we know."""

import os
import signal
from pathlib import Path


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
