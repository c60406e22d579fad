"""What a tree of processes uses: CPU time and memory, daemons that left the tree included."""

import contextlib
import ctypes
import os
import signal
import socket
import time
from collections.abc import Iterable
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
# The kernel makes the number of a process's CPU clock of its pid and this.
_CPUCLOCK_SCHED = 2
_TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
MIB = 2**20


def adopt_orphans() -> None:
    """Daemons that servers start become our own children: they stay in sight and are ended with the rest."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def descendants(*, of: int, but: Iterable[int] = ()) -> list[int]:
    """The processes below one, without those named and what is below them."""
    children: dict[int, list[int]] = {}
    for pid, fields in _stats():
        children.setdefault(int(fields[1]), []).append(pid)
    found: list[int] = []
    waiting = [pid for pid in children.get(of, ()) if pid not in but]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += [child for child in children.get(pid, ()) if child not in but]
    return found


def cpu_seconds(pids: Iterable[int]) -> float:
    """Of these processes and of their children that have ended."""
    wanted = set(pids)
    ticks_of_ended = sum(sum(map(int, fields[13:15])) for pid, fields in _stats() if pid in wanted)
    return ticks_of_ended * _TICK_SECONDS + sum(map(_own_cpu_seconds, wanted))


def memory_mib(pids: Iterable[int]) -> float:
    """What these processes hold in memory. Pages that they share count once, if we are root.

    Others may not look that closely at a server that hides from its own user.
    """
    return sum(map(_proportional_bytes, pids)) / MIB


def resident_mib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES / MIB


def end(pids: Iterable[int]) -> None:
    """Kills these processes, which must be children of ours or below them, and waits until they are gone."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in pids:
        # Those that are not our own children are by now, or their parent has waited for them.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def wait_for_port(port: int, *, within: float = 30) -> None:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.005)
    raise TimeoutError(f"nothing listens on port {port}")


def _stats() -> Iterable[tuple[int, list[str]]]:
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            # It may have ended meanwhile.
            with contextlib.suppress(OSError):
                text = Path(entry.path, "stat").read_text()
                yield int(entry.name), text.rpartition(")")[2].split()


def _own_cpu_seconds(pid: int) -> float:
    """Of all its threads, to the nanosecond: /proc counts in ticks, each worth several steps of an agent."""
    try:
        return time.clock_gettime((~pid << 3) | _CPUCLOCK_SCHED)
    except OSError:  # ended meanwhile
        return 0.0


def _proportional_bytes(pid: int) -> int:
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except PermissionError:
        return int(resident_mib(pid) * MIB)
    except (FileNotFoundError, ProcessLookupError):  # ended meanwhile
        return 0
    lines = (line.split() for line in rollup.splitlines())
    return next((int(words[1]) * 1024 for words in lines if words[0] == "Pss:"), 0)
