"""Ports for servers that a test starts."""

import socket

_held: list[socket.socket] = []


def free_port() -> int:
    """Returns a free loopback port and reserves it for the caller until the tests end.

    A socket is bound to the port, so the kernel gives the port to no other program. The socket does not
    listen, so a server that asks for exactly this port gets it, and gets it again after a restart.
    """
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    _held.append(holder)
    port: int = holder.getsockname()[1]
    return port
