"""Finds the programs of this sandbox that listen on ports, from the files in /proc.

If the sandbox is only a process without isolation, it shares the network of its machine with other programs.
So this module includes only processes that descend from this agent server, or that have the environment
variable that all commands of this server inherit.
"""

import hashlib
import ipaddress
import os
import re
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent_runtime.wire import ListeningPort
from agent_runtime.workspace.environment import BELONGS_TO, conversation_of
from agent_runtime.workspace.processes import variables_of
from agent_runtime.workspace.signals import pids
from agent_runtime.workspace.users import network_tables

_PROC = Path("/proc")
_LISTEN = "0A"
_SOCKET = re.compile(r"socket:\[(\d+)\]")
_MAX_NAME_CHARACTERS = 100
_KERNEL = "ipykernel_launcher"
_FIRST_FREE_PORT = 32_768
"""The lowest port number that Linux gives to a program that asks for any free port."""
_LOOPBACKS = ("127.0.0.1", "::1")


@dataclass(frozen=True)
class _Listener:
    address: ipaddress.IPv4Address | ipaddress.IPv6Address
    port: int
    inode: int

    def precedence(self, host: str) -> int:
        """Returns a number that says how well this listener's address fits connections to the address `host`.
        If several programs listen on the same port, Linux gives a connection to the listener with the highest
        number. The number 0 means that this listener gets no connections to `host`.
        """
        if str(self.address) == host:
            return 3
        if not self.address.is_unspecified:
            return 0
        is_same_family = (self.address.version == 6) == (":" in host)
        # A listener on [::] also accepts connections to IPv4 addresses, unless its program has switched that
        # off.
        return 2 if is_same_family else int(self.address.version == 6)


def mark_as_ours(path: Path) -> None:
    """Sets an environment variable that all later child processes inherit. The variable shows that a process
    belongs to this server.

    `path`: a path that no other agent server of this machine uses. The value of the variable is a hash of
    this path.
    """
    os.environ[BELONGS_TO] = hashlib.sha256(str(path).encode()).hexdigest()[:32]


def find_ports() -> list[ListeningPort]:
    """Returns the ports on which programs of this sandbox listen, except the ports of this server.

    The call blocks for some milliseconds.
    """
    listeners = list(_listeners())
    owners = _owners({one.inode for one in listeners})
    found: dict[int, int] = {}
    for one in listeners:
        if one.inode in owners and _hosts(one.port, listeners, owners):
            found[one.port] = min(owners[one.inode], found.get(one.port, owners[one.inode]))
    return [
        ListeningPort(
            port=port, process_name=_name_of(pid), pid=pid, conversation_id=conversation_of(variables_of(pid))
        )
        for port, pid in sorted(found.items())
        if not _is_of_kernel(port, pid)
    ]


def _is_of_kernel(port: int, pid: int) -> bool:
    """Returns whether the port is an internal port of a Jupyter kernel, the process that runs notebook cells.
    Such ports are not listed, because they are no web pages. Returns False for the port of a web page that a
    notebook cell serves. `pid`: the id of the process that listens on the port.
    """
    return port >= _FIRST_FREE_PORT and _name_of(pid).endswith(_KERNEL)


def hosts_of(port: int) -> list[str]:
    """Returns the loopback addresses at which programs of this sandbox listen on `port`.

    The call blocks for some milliseconds.
    """
    listeners = [one for one in _listeners() if one.port == port]
    return _hosts(port, listeners, _owners({one.inode for one in listeners}) if listeners else {})


def _hosts(port: int, listeners: Collection[_Listener], ours: Collection[int]) -> list[str]:
    found = []
    for host in _LOOPBACKS:
        takers = [one for one in listeners if one.port == port and one.precedence(host)]
        closest = max((one.precedence(host) for one in takers), default=0)
        inodes = {one.inode for one in takers if one.precedence(host) == closest}
        if inodes and all(inode in ours for inode in inodes):
            found.append(host)
    return found


def _listeners() -> Iterator[_Listener]:
    for table in ("tcp", "tcp6"):
        for line in _lines(network_tables() / table)[1:]:
            fields = line.split()
            if fields[3] == _LISTEN:
                address, _, port = fields[1].partition(":")
                yield _Listener(_address(address), int(port, 16), int(fields[9]))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Parses an IP address from the files /proc/net/tcp and /proc/net/tcp6. `text`: the address as it is
    written there, as 32-bit words in hexadecimal digits and in this machine's byte order. For an IPv4 address
    inside an IPv6 address, returns the IPv4 address.
    """
    packed = b"".join(struct.pack("=I", int(text[at : at + 8], 16)) for at in range(0, len(text), 8))
    address = ipaddress.ip_address(packed)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _owners(inodes: Collection[int]) -> dict[int, int]:
    """Finds the processes of this sandbox that have these sockets open. `inodes`: the inode numbers that
    identify the sockets. Returns the process id for each inode number. Sockets of other processes are left
    out.
    """
    owners: dict[int, int] = {}
    for pid in sorted(_own_processes(), reverse=True):
        for inode in _sockets_of(pid):
            if inode in inodes:
                owners[inode] = pid
    return owners


def _own_processes() -> set[int]:
    parents = {pid: _parent_of(pid) for pid in pids()}
    me, mark = os.getpid(), os.environ.get(BELONGS_TO)
    return {
        pid
        for pid in parents
        if pid != me
        and (_descends(pid, me, parents) or (mark is not None and variables_of(pid).get(BELONGS_TO) == mark))
    }


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    seen: set[int] = set()
    while pid in parents and pid not in seen:
        seen.add(pid)
        pid = parents[pid]
        if pid == ancestor:
            return True
    return False


def _parent_of(pid: int) -> int:
    stat = "".join(_lines(_PROC / str(pid) / "stat"))
    # The name in parentheses may hold spaces and parentheses itself.
    fields = stat.rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _sockets_of(pid: int) -> Iterator[int]:
    folder = _PROC / str(pid) / "fd"
    try:
        names = os.listdir(folder)  # noqa: PTH208 (as above)
    except OSError:  # it has ended, or belongs to another user
        return
    for name in names:
        try:
            match = _SOCKET.fullmatch(os.readlink(folder / name))  # noqa: PTH115 (no path, but a name)
        except OSError:  # closed meanwhile
            continue
        if match:
            yield int(match[1])


def _name_of(pid: int) -> str:
    """Returns the name of the program that runs in the process `pid`, and of its script or module, such as
    `node vite` or `python3 http.server`.
    """
    program, *arguments = _read(_PROC / str(pid) / "cmdline").rstrip("\0").split("\0")
    script = next((one for one in arguments if not one.startswith("-")), "")
    words = [_last_part(program) or _read(_PROC / str(pid) / "comm").strip(), _last_part(script)]
    name = " ".join(word for word in words if word)
    return "".join(one for one in name if one.isprintable())[:_MAX_NAME_CHARACTERS] or "?"


def _last_part(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _lines(path: Path) -> list[str]:
    return _read(path).splitlines()


def _read(path: Path) -> str:
    """Returns the content of a file in /proc. Returns an empty text if the process has ended or its file may
    not be read.
    """
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""
