"""A program that an agent runs as a command: it looks for a text in everything that /proc shows of all other
processes.

Start it with `python3 processes_probe.py TEXT_BACKWARDS`. The text is given backwards, so that command lines
do not contain it. For each find, the program prints a line `PID WAY`: the process id, and the way in which
the text was found. It also prints a line `PID attach` for each process that it may trace.
"""

import ctypes
import os
import re
import sys
from pathlib import Path

PTRACE_SEIZE = 0x4206
MAX_REGION_BYTES = 64 * 1024**2
REGION = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r")


class Piece(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def main() -> None:
    wanted = sys.argv[1][::-1].encode()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    libc.ptrace.restype = ctypes.c_long
    for process in Path("/proc").glob("[0-9]*"):
        if int(process.name) == os.getpid():
            continue
        for way, content in {**files_of(process), **memory_of(libc, process)}.items():
            if wanted in content:
                sys.stdout.write(f"{process.name} {way}\n")
        if libc.ptrace(PTRACE_SEIZE, int(process.name), None, None) == 0:
            sys.stdout.write(f"{process.name} attach\n")


def files_of(process: Path) -> dict[str, bytes]:
    found = {}
    for name in ("environ", "cmdline"):
        try:
            descriptor = os.open(process / name, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            found[name] = os.read(descriptor, 2**20)
        except OSError:
            continue
        finally:
            os.close(descriptor)
    return found


def memory_of(libc: ctypes.CDLL, process: Path) -> dict[str, bytes]:
    try:
        regions = REGION.findall((process / "maps").read_text())
    except OSError:
        # If the map of the memory is not readable, the usual address of a heap is tried.
        regions = [("555555554000", "555555654000")]
    spans = [(int(start, 16), min(int(end, 16) - int(start, 16), MAX_REGION_BYTES)) for start, end in regions]
    return {
        "mem": b"".join(_from_file(process / "mem", *span) for span in spans),
        "process_vm_readv": b"".join(_by_call(libc, int(process.name), *span) for span in spans),
    }


def _from_file(path: Path, start: int, length: int) -> bytes:
    try:
        with path.open("rb", buffering=0) as memory:
            memory.seek(start)
            return memory.read(length)
    except (OSError, OverflowError):
        return b""


def _by_call(libc: ctypes.CDLL, pid: int, start: int, length: int) -> bytes:
    buffer = ctypes.create_string_buffer(length)
    here = Piece(ctypes.cast(buffer, ctypes.c_void_p), length)
    there = Piece(ctypes.c_void_p(start), length)
    count = libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    return buffer.raw[:count] if count > 0 else b""


if __name__ == "__main__":
    main()
