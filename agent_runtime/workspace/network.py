"""Gives the agent server access to the network in which programs of the agent run.

If the sandbox is only a process, commands can run in the command namespaces (isolated Linux namespaces, see
`command_namespaces.py`). Then there are two networks: the server's and the commands'. A socket always belongs
to the network in which it was made. So the spawner, a process that starts programs in the command namespaces,
makes a socket in the commands' network. The server gets this socket and listens on it or connects it. In
other sandboxes, the server and the commands use the same network.
"""

import asyncio
import socket

from agent_runtime.workspace import spawner_client
from agent_runtime.workspace.users import spawner_address


async def listen(host: str, port: int) -> socket.socket:
    """Returns a listening socket through which programs of the agent can reach this server. `host`: an IP
    address. `port`: 0 means any free port. Raises OSError if the address and port cannot be used.
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
    """Returns a socket that is connected to a port on which a program of the agent listens. `host`: an IP
    address. Raises OSError if the connection fails.
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
    address = spawner_address()
    if address is None:
        made = socket.socket(family, socket.SOCK_STREAM)
    else:
        made = await asyncio.to_thread(spawner_client.new_socket, address, family)
    made.setblocking(False)
    return made
