"""A program that an agent runs as a command: it attacks the agent server of its sandbox in many ways.

Start it with `python3 server_probe.py`. It prints a line with the name of each attack that succeeds; no
attack should succeed. The last line is `tried N`, where N is the number of attacks.
"""

import ctypes
import fcntl
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

PTRACE_SEIZE = 0x4206
PIDFD_OPEN, PIDFD_GETFD = 434, 438
CONVERSATIONS = Path("/workspace/conversations")
LIBC = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    server = pid_of_server()
    attacks = {
        **on_process("server", server),
        **on_process("first process", 1),
        **on_socket(server),
        **on_files(),
        **on_users(),
    }
    for name, attack in attacks.items():
        try:
            result = attack()
        except OSError:
            continue
        if result is not False:
            sys.stdout.write(f"{name}\n")
    sys.stdout.write(f"tried {len(attacks)}\n")


def pid_of_server() -> int:
    [found] = [
        int(entry.name)
        for entry in Path("/proc").glob("[0-9]*")
        if b"agent_runtime.server" in (entry / "cmdline").read_bytes() and int(entry.name) != 1
    ]
    return found


def on_process(name: str, pid: int) -> dict[str, Callable[[], object]]:
    place = Path(f"/proc/{pid}")
    signals = {f"{name}: {one.name}": (lambda one=one: os.kill(pid, one)) for one in HARMLESS}
    return {
        **signals,
        f"{name}: trace": lambda: call(LIBC.ptrace, PTRACE_SEIZE, pid, None, None),
        f"{name}: memory": lambda: (place / "mem").open("rb").close(),
        f"{name}: write memory": lambda: (place / "mem").open("r+b").close(),
        f"{name}: environment": (place / "environ").read_bytes,
        f"{name}: maps": (place / "maps").read_text,
        f"{name}: files": lambda: [one.readlink() for one in (place / "fd").iterdir()],
        f"{name}: working directory": (place / "cwd").readlink,
        f"{name}: root": lambda: [*(place / "root").iterdir()],
        f"{name}: memory by call": lambda: read_by_call(pid),
        f"{name}: end it first when memory is short": lambda: (place / "oom_score_adj").write_text("1000"),
        f"{name}: limits": lambda: resource_limit(pid),
    }


HARMLESS = (signal.SIGCONT, signal.SIGWINCH, signal.SIGURG)
"""Signals without effect. The kernel requires the same permission for them as for SIGKILL."""


def on_socket(server: int) -> dict[str, Callable[[], object]]:
    def listen() -> None:
        taken = socket.socket()
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        taken.bind(("0.0.0.0", 8000))
        taken.listen()

    def take_descriptors() -> bool:
        handle = call(LIBC.syscall, PIDFD_OPEN, server, 0)
        return any(LIBC.syscall(PIDFD_GETFD, handle, number, 0) >= 0 for number in range(64))

    return {"listen at its port": listen, "take its descriptors": take_descriptors}


def on_files() -> dict[str, Callable[[], object]]:
    attacks: dict[str, Callable[[], object]] = {}
    logs = [*CONVERSATIONS.glob("*/log.sqlite")]
    assert logs, "there is a conversation"
    for log in logs:
        for file in (log, log.with_name("log.sqlite-wal"), log.with_name("writer.lock")):
            name = f"{file.name} of {log.parent.name}"
            attacks |= {
                f"read {name}": lambda file=file: file.read_bytes(),
                f"write {name}": lambda file=file: file.open("r+b").close(),
                f"lock {name}": lambda file=file: fcntl.flock(file.open("rb"), fcntl.LOCK_EX),
                f"replace {name}": lambda file=file: place_instead_of(file),
                f"link {name}": lambda file=file: os.link(file, f"/workspace/project/{os.urandom(8).hex()}"),
                f"open {name} to all": lambda file=file: file.chmod(0o777),
                f"take {name}": lambda file=file: os.chown(file, os.getuid(), -1),
            }
        attacks |= {
            f"journal of {log.parent.name}": lambda log=log: log.with_name("log.sqlite-journal").touch(),
            f"move {log.parent.name}": lambda log=log: log.parent.rename(log.parent.with_name("moved")),
        }
    return attacks | {
        "another conversation": (CONVERSATIONS / ("0" * 32)).mkdir,
        "move all conversations": lambda: CONVERSATIONS.rename("/workspace/moved"),
        "settings of git": lambda: (CONVERSATIONS / ".gitconfig").open("a").close(),
        "replace settings of git": lambda: place_instead_of(CONVERSATIONS / ".gitconfig"),
        "remotes of git": lambda: (CONVERSATIONS / ".git-remotes.json").open("a").close(),
    }


def on_users() -> dict[str, Callable[[], object]]:
    return {
        "become the server's user": lambda: os.setresuid(10000, 10000, 10000),
        "become root": lambda: os.setresuid(0, 0, 0),
        "files as the server's user": lambda: LIBC.setfsuid(10000) + LIBC.setfsuid(-1) == 20000,
    }


def place_instead_of(file: Path) -> None:
    mine = Path(f"/workspace/project/{os.urandom(8).hex()}")
    mine.touch()
    mine.rename(file)


def read_by_call(pid: int) -> int:
    buffer = (ctypes.c_char * 16)()
    here = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 16)
    there = (ctypes.c_void_p * 2)(0x555555554000, 16)
    return call(LIBC.process_vm_readv, pid, here, 1, there, 1, 0)


def resource_limit(pid: int) -> int:
    limits = (ctypes.c_ulong * 2)(64, 64)
    return call(LIBC.prlimit, pid, 7, limits, None)


def call(function: Callable[..., int], *arguments: object) -> int:
    result = function(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


if __name__ == "__main__":
    main()
