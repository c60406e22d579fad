"""Ports for servers that a test starts."""

import socket

_held: list[socket.socket] = []


def free_port() -> int:
    """A loopback port that stays free for whoever listens on it, until the tests end.

    The kernel gives a port to nobody else while a socket is bound to it; as long as that one does not
    listen, a server that asks for this very port still gets it, and again after a restart.
    """
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    _held.append(holder)
    port: int = holder.getsockname()[1]
    return port
