"""Forwards the network connections of this host's sandboxes to the app server, through WebSockets that the
app server has opened to this host.

For each new connection of a sandbox, this host sends a random name to the app server on a control WebSocket.
The app server then opens another WebSocket with this name. This host forwards the bytes of the connection
through that WebSocket and does not interpret them.
"""

import asyncio
import logging
import secrets
from contextlib import suppress
from dataclasses import dataclass, field

from starlette.websockets import WebSocket, WebSocketDisconnect

from agent_runtime.relay.duplex import until_either_ends
from app_server.sandbox_backends.remote.wire import PIECE_BYTES

logger = logging.getLogger(__name__)

FETCH_SECONDS = 15.0
MAX_CONNECTIONS = 4096


@dataclass
class _Fetched:
    """The WebSocket that the app server has opened to carry the bytes of one network connection of a sandbox.
    `ended`: an event that is set when the sandbox's connection has ended and the WebSocket is no longer used.
    """

    socket: WebSocket
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class EgressRelay:
    def __init__(self) -> None:
        self._control: WebSocket | None = None
        self._waiting: dict[str, asyncio.Future[_Fetched]] = {}
        self._count = 0

    async def control(self, socket: WebSocket) -> None:
        """Keeps the control WebSocket of the app server open. When a sandbox opens a network connection, this
        host gives the connection a name and sends the name on the control WebSocket. Closes the previous
        control WebSocket. Returns when the app server disconnects or opens another control WebSocket.
        """
        await socket.accept()
        before, self._control = self._control, socket
        if before is not None:
            # The app server may not have noticed yet that the old socket has ended. Do not wait for it.
            with suppress(RuntimeError, WebSocketDisconnect, OSError):
                await before.close()
        try:
            while True:
                await socket.receive_text()
        except WebSocketDisconnect:
            return
        finally:
            if self._control is socket:
                self._control = None

    async def fetch(self, socket: WebSocket, name: str) -> None:
        """Carries one network connection of a sandbox over a WebSocket that the app server has opened for it.
        This host has sent the connection's name to the app server before. Since then, the connection has
        waited for this WebSocket.

        `socket`: the WebSocket. `name`: the name of the connection. Returns when the connection has ended.
        Closes the WebSocket at once if no connection with this name is waiting.
        """
        waiting = self._waiting.pop(name, None)
        if waiting is None or waiting.done():
            await socket.close()
            return
        await socket.accept()
        fetched = _Fetched(socket)
        waiting.set_result(fetched)
        await fetched.ended.wait()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forwards one connection of a sandbox to the app server until the connection ends. Closes the
        connection at once if no app server is connected, or if MAX_CONNECTIONS are open already.
        """
        self._count += 1
        try:
            if self._control is not None and self._count <= MAX_CONNECTIONS:
                await self._carry(self._control, reader, writer)
        except (OSError, RuntimeError, TimeoutError, WebSocketDisconnect) as error:
            logger.info("a connection of a sandbox broke off", extra={"cause": type(error).__name__})
        finally:
            self._count -= 1
            writer.close()

    async def _carry(
        self, control: WebSocket, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        name = secrets.token_hex(16)
        waiting = self._waiting[name] = asyncio.get_running_loop().create_future()
        try:
            await control.send_text(name)
            fetched = await asyncio.wait_for(waiting, FETCH_SECONDS)
        finally:
            self._waiting.pop(name, None)
        try:
            await until_either_ends(_out(reader, fetched.socket), _in(fetched.socket, writer))
        finally:
            fetched.ended.set()


async def _out(reader: asyncio.StreamReader, socket: WebSocket) -> None:
    while piece := await reader.read(PIECE_BYTES):
        await socket.send_bytes(piece)


async def _in(socket: WebSocket, writer: asyncio.StreamWriter) -> None:
    with suppress(WebSocketDisconnect):
        while True:
            writer.write(await socket.receive_bytes())
            await writer.drain()
