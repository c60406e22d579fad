"""Functions for Linux system calls that isolate processes and that Python does not offer: mounts, namespaces,
capabilities.
"""

import ctypes
import errno
import fcntl
import os
import signal
import socket
import struct
from pathlib import Path

NEW_MOUNTS, NEW_IPC, NEW_PIDS, NEW_NETWORK = 0x0002_0000, 0x0800_0000, 0x2000_0000, 0x4000_0000
READ_ONLY, NO_SETUID, NO_DEVICES, NO_PROGRAMS = 1, 2, 4, 8
_REMOUNT, _BIND, _RECURSIVE = 32, 4096, 16384
_SLAVE, _SHARED = 1 << 19, 1 << 20
_DETACH = 2
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_CAP_AMBIENT, _CLEAR_ALL = 1, 4, 24, 47, 4
_CAPABILITY_VERSION = 0x2008_0522
_SET_INTERFACE_FLAGS, _UP = 0x8914, 1

# root of the machine could change the kernel's settings here, even without any capability.
_READ_ONLY_PROC = ("bus", "fs", "irq", "sys", "sysrq-trigger")
_MASKED_PROC = ("kcore", "keys", "latency_stats", "sched_debug", "timer_list", "timer_stats")

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(kinds: int) -> None:
    """Moves this process, which must have only one thread, into new namespaces. `kinds`: flags that say which
    namespaces are new. Like all functions of this module, raises OSError if a system call fails.
    """
    _check(_libc.unshare(kinds), "unshare")


def start_loopback() -> None:
    """Turns on the loopback interface of the network of this process. A new network namespace has only this
    interface, and it is turned off at first.
    """
    with socket.socket() as any_one:
        fcntl.ioctl(any_one, _SET_INTERFACE_FLAGS, struct.pack("16sh22x", b"lo", _UP))


def enter_mounts(namespace: int) -> None:
    """Moves this process into another mount namespace. `namespace`: the descriptor of an open file
    /proc/PID/ns/mnt.
    """
    _check(_libc.setns(namespace, NEW_MOUNTS), "setns")


def receive_mounts_only() -> None:
    """Makes this process's mount namespace receive new mounts, but send none. The other side is the namespace
    from which this one was copied. Later mounts in that namespace also appear here. Later mounts here do not
    appear in that namespace.
    """
    _mount(None, Path("/"), None, _SLAVE | _RECURSIVE)


def share(directory: Path) -> None:
    """Marks `directory`, so that later mounts below it are passed on to other mount namespaces. These are the
    namespaces that are copied from the namespace of this process after this call.
    """
    _mount(None, directory, None, _SHARED)


def mount_new(kind: str, directory: Path, options: str = "") -> None:
    """Mounts a new `proc` or `tmpfs` file system (`kind`) over `directory`. `options`: the mount options."""
    programs = NO_PROGRAMS if kind == "proc" else 0
    _mount(kind, directory, kind, NO_SETUID | NO_DEVICES | programs, options)


def mount_again(source: Path, target: Path, *, read_only: bool = False) -> None:
    """Makes the directory or file `source` also visible at the path `target` (a bind mount). `read_only`:
    whether the content cannot be changed through `target`.
    """
    _mount(str(source), target, None, _BIND)
    if read_only:
        make_read_only(target)


def make_read_only(mount_point: Path) -> None:
    _mount(None, mount_point, None, _BIND | _REMOUNT | READ_ONLY | NO_SETUID | NO_DEVICES)


def unmount(mount_point: Path) -> None:
    _check(_libc.umount2(os.fsencode(mount_point), _DETACH), str(mount_point))


def protect_proc() -> None:
    """Protects settings of the kernel from the programs in this mount namespace: makes some entries of /proc
    read-only and hides other entries. The entries about processes do not change.
    """
    for name in _READ_ONLY_PROC:
        if (path := Path("/proc", name)).exists():
            mount_again(path, path)
            _mount(None, path, None, _BIND | _REMOUNT | READ_ONLY | NO_SETUID | NO_DEVICES | NO_PROGRAMS)
    for name in _MASKED_PROC:
        if (path := Path("/proc", name)).exists():
            mount_again(Path("/dev/null"), path)


def hide_from_others() -> None:
    """Blocks other processes of the same user from this process's memory, environment and open files."""
    _check(_libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")


def end_with_parent() -> None:
    """Makes the kernel kill this process when its parent ends."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")


def give_up_for_programs() -> None:
    """Removes all capabilities (special rights) from the programs that this process starts later. The process
    itself keeps its capabilities.
    """
    for capability in range(64):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            if ctypes.get_errno() == errno.EINVAL:  # past the last one
                break
            _check(-1, "prctl")
    _check(_libc.prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0), "prctl")
    header, sets = _capabilities()
    # In each half: effective, permitted, inheritable.
    sets[2] = sets[5] = 0
    _check(_libc.capset(header, sets), "capset")


def give_up_all() -> None:
    """Removes all capabilities (special rights) from this process and from the programs that it starts."""
    give_up_for_programs()
    header, _ = _capabilities()
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def _capabilities() -> tuple[ctypes.Array[ctypes.c_uint32], ctypes.Array[ctypes.c_uint32]]:
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()
    _check(_libc.capget(header, sets), "capget")
    return header, sets


def _mount(source: str | None, target: Path, kind: str | None, flags: int, options: str = "") -> None:
    done = _libc.mount(
        source.encode() if source else None,
        os.fsencode(target),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        options.encode() if options else None,
    )
    _check(done, str(target))


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
