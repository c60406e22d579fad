"""Gives the agent server access to the network that programs of the agent are in.

A process sandbox with a room (isolated namespaces for commands, see `room.py`) has two networks: the server's
and the room's. A socket always belongs to the network that it was made in. So the spawner of the room makes
the socket there, and the server listens on it or connects it from outside. Other sandboxes have one network.
"""

import asyncio
import socket

from agent_runtime.workspace import spawned
from agent_runtime.workspace.users import room_spawner


async def listen(host: str, port: int) -> socket.socket:
    """Returns a socket on which programs of the agent can reach this server. `host`: an IP address. `port`: 0
    means any free port. Raises OSError.
    """
    listener = await _new_socket(host)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()
    except BaseException:
        listener.close()
        raise
    return listener


async def dial(host: str, port: int) -> socket.socket:
    """Returns a connection to a port that a program of the agent serves. `host`: an address. Raises
    OSError.
    """
    connection = await _new_socket(host)
    try:
        await asyncio.get_running_loop().sock_connect(connection, (host, port))
    except BaseException:
        connection.close()
        raise
    return connection


async def _new_socket(host: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    spawner = room_spawner()
    if spawner is None:
        made = socket.socket(family, socket.SOCK_STREAM)
    else:
        made = await asyncio.to_thread(spawned.new_socket, spawner, family)
    made.setblocking(False)
    return made
