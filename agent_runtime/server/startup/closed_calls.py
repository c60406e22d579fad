"""Blocks system calls that no program in a sandbox may make: sockets to a hypervisor, and io_uring.

AF_VSOCK sockets belong to no network namespace, so network isolation does not block them. Filters of system
calls do not see what io_uring does. The default filters of older container engines allow AF_VSOCK sockets and
io_uring, and bubblewrap has no filter. Therefore the agent server installs a filter for itself and its child
processes. This filter cannot be removed.
"""

import ctypes
import errno
import platform
import struct
import sys
from dataclasses import dataclass

_PR_GET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 39, 22, 2
_AF_VSOCK = 40
_IO_URING = (425, 426, 427)
"""The numbers of the system calls io_uring_setup, io_uring_enter and io_uring_register. The numbers are the
same on all architectures.
"""

# Instructions of classic BPF: load a word, compare, return.
_INSTRUCTION_BYTES = 8
_LOAD, _IS_EQUAL, _IS_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in `struct seccomp_data`
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_X32 = 0x40000000
"""The bit that is set in the number of each system call of x32. x32 is a third set of system calls of x86_64
kernels, in addition to the sets for 64-bit and for 32-bit programs.
"""


@dataclass(frozen=True)
class _Calls:
    """The numbers by which the filter recognizes the system calls of one processor architecture.

    `audit`: the number of the architecture in the kernel's audit subsystem. `socket`: the number of the call
    `socket`.

    `bundled`: the numbers of system calls that the filter always refuses. Such a call (for example
    `socketcall`) performs one of several other calls, such as `socket`. A filter cannot see which call it
    performs.
    """

    audit: int
    socket: int
    bundled: tuple[int, ...] = ()


_X86_64, _I386 = _Calls(0xC000003E, 41), _Calls(0x40000003, 359, bundled=(102,))
_AARCH64, _ARM = _Calls(0xC00000B7, 198), _Calls(0x40000028, 281)
_KNOWN = {"x86_64": (_X86_64, _I386), "aarch64": (_AARCH64, _ARM)}


class FilterError(Exception):
    """The error that is raised when the kernel refuses the filter for system calls, or when no filter exists
    for this machine's architecture. The text gives the reason.
    """


def close_calls() -> None:
    """Blocks the system calls that no program in a sandbox may make, for this process and all its later child
    processes. Must be called before threads start.

    Does nothing unless the process has the flag `no_new_privs`, which containers and bubblewrap set. Without
    this flag an ordinary process may not install a filter. Raises FilterError if the filter cannot be
    installed.
    """
    if sys.platform != "linux" or not _gains_no_privileges():
        return
    architectures = _KNOWN.get(platform.machine())
    if architectures is None:
        raise FilterError(f"There is no filter for {platform.machine()}.")
    program = b"".join(_section(calls) for calls in architectures) + _instruction(_RETURN, _REFUSE)
    _install(program)


def _section(calls: _Calls) -> bytes:
    """Returns the part of the filter for system calls that applies to one processor architecture, as encoded
    instructions. On other architectures the kernel skips these instructions.
    """
    refused = (*_IO_URING, *calls.bundled)
    body = [_instruction(_LOAD, _NUMBER)]
    if calls is _X86_64:
        body.append(_instruction(_IS_AT_LEAST, _X32, if_not=1))
        body.append(_instruction(_RETURN, _REFUSE))
    for number in refused:
        body.append(_instruction(_IS_EQUAL, number, if_not=1))
        body.append(_instruction(_RETURN, _REFUSE))
    body.append(_instruction(_IS_EQUAL, calls.socket, if_not=3))
    body.append(_instruction(_LOAD, _FIRST_ARGUMENT))
    body.append(_instruction(_IS_EQUAL, _AF_VSOCK, if_not=1))
    body.append(_instruction(_RETURN, _REFUSE))
    body.append(_instruction(_RETURN, _ALLOW))
    head = [_instruction(_LOAD, _ARCHITECTURE), _instruction(_IS_EQUAL, calls.audit, if_not=len(body))]
    return b"".join([*head, *body])


def _instruction(code: int, value: int, *, if_not: int = 0) -> bytes:
    """Encodes one instruction of the kernel's filter for system calls. `code`: the operation. `value`: its
    operand. `if_not`: the number of instructions to skip if the comparison fails.
    """
    return struct.pack("=HBBI", code, 0, if_not, value)


def _gains_no_privileges() -> bool:
    unused = ctypes.c_ulong(0)
    return bool(ctypes.CDLL(None).prctl(_PR_GET_NO_NEW_PRIVS, unused, unused, unused, unused) == 1)


def _install(program: bytes) -> None:
    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))

    libc, unused = ctypes.CDLL(None, use_errno=True), ctypes.c_ulong(0)
    given = ctypes.byref(Program(len(program) // _INSTRUCTION_BYTES, program))
    if libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), given, unused, unused) != 0:
        raise FilterError(f"The kernel refuses the filter: {errno.errorcode.get(ctypes.get_errno())}.")
