"""Reads the keys that the app server passes to the agent server at its start: the session key, which clients
must send, and signing keys. Afterwards the keys exist only in the memory of this process, which other
processes cannot read.

If the sandbox has only one operating system user, the agent's commands run as the same user as the server
(for two users see two_users.py). So the server makes itself "not dumpable". Then the kernel does not let
these commands read the server's memory, its open files and the environment variables with which it was
started.
"""

import ctypes
import logging
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from agent_runtime.wire.startup_keys import FirstKeys

logger = logging.getLogger(__name__)

STANDARD_INPUT = "-"
MAX_KEY_BYTES = 4096
_PR_SET_DUMPABLE = 4
# Indexes after the process's name, where the state has index 0: fields 50 and 51 in proc(5).
_ENV_START, _ENV_END = 47, 48


class HandOverError(Exception):
    """The error that is raised when the server must receive a session key (the key that clients must send) at
    its start, but no key arrives. The text says where the key was expected.
    """


def hide_from_own_user() -> None:
    """Makes this process "not dumpable" (a flag of the Linux kernel). Then other processes of the same
    operating system user cannot read the memory of this process and its entries in /proc.
    """
    if sys.platform != "linux":
        return
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        logger.warning("the environment stays readable", extra={"errno": ctypes.get_errno()})


def take_first_keys(source: str) -> FirstKeys:
    """Reads the agent server's first keys (the session key that clients must send, and signing keys) from the
    standard input or from a file. A file is deleted after it is read. `source`: `-` for the standard input,
    or the path of the file.

    Raises HandOverError if the source cannot be read or contains no valid session key.
    """
    try:
        content = _take_standard_input() if source == STANDARD_INPUT else _take_file(source)
    except OSError as error:
        raise HandOverError(f"The session key cannot be read: {error}.") from error
    try:
        keys = FirstKeys.of(content.decode(errors="replace"))
    except ValidationError as error:
        raise HandOverError(f"The session key in {_name(source)} has no known form.") from error
    if not keys.session_key:
        raise HandOverError(f"There is no session key in {_name(source)}.")
    return keys


def erase_from_first_environment(prefixes: Sequence[str]) -> None:
    """Overwrites the values of the environment variables whose names begin with one of `prefixes`. Overwrites
    them in the memory where the kernel stored the environment at the start of this process.

    It is not enough to delete a variable in Python, because other processes, for example processes of root,
    could still read the variable's value in /proc.
    """
    if sys.platform != "linux":
        return
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    position, end = int(fields[_ENV_START]), int(fields[_ENV_END])
    beginnings = tuple(prefix.encode() for prefix in prefixes)
    for variable in ctypes.string_at(position, end - position).split(b"\0") if position else ():
        name, is_one, value = variable.partition(b"=")
        if is_one and name.startswith(beginnings):
            ctypes.memset(position + len(name) + 1, 0, len(value))
        position += len(variable) + 1


def _take_standard_input() -> bytes:
    with Path(os.devnull).open("rb") as nothing:
        content = _read(0)
        os.dup2(nothing.fileno(), 0)
    return content


def _take_file(path: str) -> bytes:
    # A link could lead to a file that the agent chose.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise HandOverError(f"{path} is not a file.")
        Path(path).unlink()
        return _read(descriptor)
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> bytes:
    content = b""
    while len(content) <= MAX_KEY_BYTES and (piece := os.read(descriptor, MAX_KEY_BYTES)):
        content += piece
    return content


def _name(source: str) -> str:
    return "the standard input" if source == STANDARD_INPUT else source
