#!/usr/bin/env python3
"""Starts Chromium so that it does not notice network changes: `steady_chromium.py ARGUMENT...`

Chromium drops its requests (ERR_NETWORK_CHANGED) when a network address appears or disappears. Tests that run
at the same time often create and remove networks of containers. Linux reports such changes over netlink
sockets. A Chromium that may not open these sockets does not notice the changes. Nothing else in it is
changed.
"""

import ctypes
import errno
import os
import socket
import sys
from pathlib import Path
from typing import NoReturn

CHROMIUM = "/usr/bin/chromium"
STEADY_BIN = Path(__file__).parent / "bin"
"""A folder to put first in PATH. Its program `chromium` runs this file."""
STEADY_CHROMIUM = STEADY_BIN / "chromium"

# The constants of libseccomp's <seccomp.h>.
_ALLOW = 0x7FFF0000
_FAIL_WITH = 0x00050000
_EQUAL = 4


class _Comparison(ctypes.Structure):
    """The C structure `struct scmp_arg_cmp` of libseccomp."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operation", ctypes.c_int),
        ("value", ctypes.c_uint64),
        ("unused", ctypes.c_uint64),
    )


def forbid_netlink() -> None:
    """Forbids netlink sockets for this process and the programs that it starts. Raises OSError if
    that fails.
    """
    seccomp = ctypes.CDLL("libseccomp.so.2")
    seccomp.seccomp_init.restype = ctypes.c_void_p
    filters = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(_ALLOW)))
    is_netlink = _Comparison(argument=0, operation=_EQUAL, value=socket.AF_NETLINK)
    refuse = ctypes.c_uint32(_FAIL_WITH | errno.EACCES)
    call = seccomp.seccomp_syscall_resolve_name(b"socket")
    failed = seccomp.seccomp_rule_add_array(filters, refuse, call, 1, ctypes.byref(is_netlink))
    failed = failed or seccomp.seccomp_load(filters)
    if failed:
        raise OSError(-failed, f"cannot forbid netlink sockets: {os.strerror(-failed)}")


def main() -> NoReturn:
    forbid_netlink()
    os.execv(CHROMIUM, [CHROMIUM, *sys.argv[1:]])  # noqa: S606 (no shell is wanted)


if __name__ == "__main__":
    main()
