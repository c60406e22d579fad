"""Measures the CPU time and the memory of a process and all its descendants. Daemons that have left the
process tree are included.
"""

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
    """Makes this process the new parent of each descendant whose parent ends, for example of the daemons that
    the servers start. So the daemons are measured and ended together with the other processes. Raises OSError
    if the kernel refuses this.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def descendants(*, of: int, but: Iterable[int] = ()) -> list[int]:
    """Returns the ids of all descendants of the process `of`. Leaves out the processes in `but` and their
    descendants.
    """
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
    """Returns the CPU seconds that these processes have used, including their children that have ended."""
    wanted = set(pids)
    ticks_of_ended = sum(sum(map(int, fields[13:15])) for pid, fields in _stats() if pid in wanted)
    return ticks_of_ended * _TICK_SECONDS + sum(map(_own_cpu_seconds, wanted))


def memory_mib(pids: Iterable[int]) -> float:
    """Returns the memory that these processes use, in MiB. Memory pages that the processes share count once
    if the benchmark runs as root.

    Without root, the shared memory of some servers cannot be read. For such a process, its resident memory
    counts.
    """
    return sum(map(_proportional_bytes, pids)) / MIB


def resident_mib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES / MIB


def end(pids: Iterable[int]) -> None:
    """Kills these processes and waits until they have ended. They must be descendants of this process."""
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
    """Returns the CPU seconds of all threads of a process, with the precision of a nanosecond. The values in
    /proc are less precise: one unit there is as long as several steps of an agent. Returns 0 if the process
    has ended.
    """
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
