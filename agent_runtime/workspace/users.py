"""Separates two users in one sandbox: commands run as the agent's user and cannot reach the server's files
and process.

A Linux process has a real, a saved and an effective user. The real and the saved user of the server process
are the server's user. So the kernel refuses a command that wants to signal or trace the server, or to read
its entries in /proc. The effective user of the server process is the agent's user. So every thread accesses
files with the rights of the agent, and a link from the workspace to a file of the server cannot be followed.
Only code in a `with server_files()` block accesses the server's files. The block changes the rights of one
thread.

If the sandbox is only a process, it has one user. There, programs start in the command namespaces: isolated
Linux namespaces (see `command_namespaces`) that have neither the server's processes nor its files. A program
that uses this package as a library has neither two users nor command namespaces. For such a program, the
functions of this module change no rights and start other programs as the current user.
"""

import asyncio
import ctypes
import errno
import os
import stat
from asyncio.subprocess import Process
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_runtime.workspace import spawner_client

_SETPRIV = "/usr/bin/setpriv"
_ENV = "/usr/bin/env"
_TAKEN_OUT = frozenset(
    (
        *("GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "LOCPATH"),
        *("NIS_PATH", "NLSPATH", "RESOLV_HOST_CONF", "RES_OPTIONS", "TMPDIR", "TZDIR"),
    )
)
_NO_USER = -1


@dataclass(frozen=True)
class Users:
    """The ids of the two operating system users of a sandbox: the user of the agent server, and the user that
    runs the agent's commands. The two ids are different.
    """

    server: int
    agent: int


_users: Users | None = None
_spawner_address: Path | None = None
_network = Path("/proc/self/net")


def can_switch_files(user: int) -> bool:
    """Returns whether a process can change the user id for file accesses alone (setfsuid). Not all container
    runtimes allow this. The function changes this id as a test and then changes it back.

    `user`: the id of the user for the test. The calling process must be allowed to become any user.
    """
    before = _switch_files(user)
    is_switched = _switch_files(_NO_USER) == user
    _switch_files(before)
    return is_switched


def become(users: Users) -> None:
    """Changes the user ids of this process permanently: the server's user becomes the real and the saved
    user, the agent's user becomes the effective user. The process must be root and must have no other thread.
    """
    global _users  # noqa: PLW0603 (of a process)
    os.setresuid(users.server, users.agent, users.server)
    _users = users


def start_in_command_namespaces(spawner: Path, spawner_pid: int) -> None:
    """Makes `start_process` start all processes for the agent in the command namespaces (isolated Linux
    namespaces for the agent's commands) from now on. `spawner`: the path of the socket of the spawner, the
    process that starts programs there. `spawner_pid`: the id of the spawner process.
    """
    global _spawner_address, _network
    _spawner_address, _network = spawner, Path(f"/proc/{spawner_pid}/net")


def has_command_namespaces() -> bool:
    return _spawner_address is not None


def spawner_address() -> Path | None:
    """Returns the path of the socket of the spawner, the process that starts programs in the command
    namespaces (isolated Linux namespaces for the agent's commands). Returns None if the sandbox has no
    command namespaces.
    """
    return _spawner_address


def network_tables() -> Path:
    """Returns the directory with the kernel's lists of open sockets (`/proc/…/net`) for the network of the
    agent's programs. From these lists, the server finds the ports on which these programs listen.
    """
    return _network


def show_in_command_namespaces(name: str) -> None:
    """Makes the agent's directories of a conversation visible in the command namespaces (isolated Linux
    namespaces for the agent's commands), if the sandbox has them. `name`: the name of the conversation's
    directory. Raises OSError if this fails.
    """
    if _spawner_address is not None:
        spawner_client.show(_spawner_address, name)


def are_two() -> bool:
    return _users is not None


def is_server(user: int) -> bool:
    return _users is not None and user == _users.server


@contextmanager
def server_files() -> Iterator[None]:
    """Makes file accesses inside the `with` block use the rights of the server's user. The block must not
    contain `await` and must not start a thread. Has no effect if the sandbox has only one user.
    """
    if _users is None:
        yield
        return
    before = _switch_files(_users.server)
    try:
        yield
    finally:
        _switch_files(before)


async def start_process(program: str | Path, *arguments: str | bytes | Path, **options: Any) -> Process:
    """Starts a process for the agent and returns it. The process runs as the agent's user if the sandbox has
    this user, or in the command namespaces (isolated Linux namespaces for the agent's commands) if the
    sandbox has them. Otherwise it runs as the current user. The arguments are those of
    `asyncio.create_subprocess_exec`.
    """
    if _spawner_address is not None:
        return await spawner_client.spawn(_spawner_address, program, *arguments, **options)
    if _users is None:
        return await asyncio.create_subprocess_exec(program, *arguments, **options)
    environment = options.get("env", os.environ)
    _require_program(str(program), options.get("cwd"), environment)
    changed = _changing_user(_users.agent, environment)
    return await asyncio.create_subprocess_exec(*changed, program, *arguments, **options)


def as_agent(
    command: str, arguments: Sequence[str], environment: Mapping[str, str], cwd: str | Path
) -> tuple[str, list[str], dict[str, str]]:
    """Changes a command so that the program runs as the agent's user, or in the command namespaces (isolated
    Linux namespaces for the agent's commands). Returns the new program, its arguments and its environment,
    for a library that starts programs itself. If the sandbox has neither the agent's user nor command
    namespaces, returns the given values.

    `command`: the program to run. `cwd`: its working directory.
    """
    if _spawner_address is not None:
        # The program outside of the command namespaces gets no variable, because it runs next to the server.
        return *spawner_client.stand_in(_spawner_address, [command, *arguments], cwd, environment), {}
    if _users is None:
        return command, [*arguments], {**environment}
    program, *options = _changing_user(_users.agent, environment)
    return program, [*options, command, *arguments], {**environment}


def _changing_user(user: int, environment: Mapping[str, str]) -> list[str]:
    # A program changes the user, not our code between fork and exec. There, the process would already belong
    # to the agent, so a command could stop it, and the server would wait for it for ever.
    taken_out = [f"{name}={value}" for name, value in environment.items() if _is_taken_out(name)]
    return [_SETPRIV, f"--reuid={user}", "--", *([_ENV, *taken_out] if taken_out else [])]


def _is_taken_out(name: str) -> bool:
    """Returns whether a command would lose this environment variable when `setpriv` starts it. `setpriv` is
    the program that starts commands as the agent's user. `name`: the name of the variable.

    The real and the effective user of `setpriv` are different. For security, the C library removes some
    variables from the environment of such a process, for example those that begin with `LD_`.
    """
    return name in _TAKEN_OUT or name.startswith(("LD_", "MALLOC_"))


def _require_program(program: str, cwd: str | Path | None, environment: Mapping[str, str]) -> None:
    """Checks that the program and its directory exist and can be used. Otherwise raises the same kind of
    OSError as a failed start of the program.
    """
    directory = Path(cwd or ".")
    if not stat.S_ISDIR(directory.stat().st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(directory))
    folders = [""] if "/" in program else environment.get("PATH", os.defpath).split(os.pathsep)
    candidates = [directory / folder / program for folder in folders]
    if any(
        candidate.is_file() and os.access(candidate, os.X_OK, effective_ids=True) for candidate in candidates
    ):
        return
    number = errno.EACCES if any(candidate.exists() for candidate in candidates) else errno.ENOENT
    raise OSError(number, os.strerror(number), program)


def _switch_files(user: int) -> int:
    """Sets the user id with which the kernel checks the file accesses of this thread. Returns the id that was
    set before.
    """
    return int(_libc.setfsuid(user))


# PyDLL does not release the interpreter's lock: the call takes less time than releasing the lock.
_libc = ctypes.PyDLL(None)
