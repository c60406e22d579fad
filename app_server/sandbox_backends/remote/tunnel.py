"""The app server's end of the tunnel through which sandboxes on another host reach the app server's inner
listener (its port for sandboxes).

The app server opens all connections of the tunnel. So a host needs no network route to the app server, and
the data of sandboxes is protected in the same way as other calls to the host. When a sandbox on the host
opens a connection, the host gives this connection a name and sends the name to the app server. The app server
then opens a WebSocket to the host for this name. The WebSocket carries the data of the connection.
"""

import asyncio
import logging
import ssl

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from agent_runtime.relay.duplex import until_either_ends
from app_server.core.background import Background
from app_server.sandbox_backends.remote.host import Host
from app_server.sandbox_backends.remote.wire import PIECE_BYTES, PREFIX

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
OPEN_SECONDS = 10.0


class HostTunnel:
    def __init__(self, host: Host, trust: ssl.SSLContext, inner_port: int, background: Background) -> None:
        self._host = host
        self._background = background
        self._inner_port = inner_port
        self._tls = trust if host.url.startswith("https:") else None
        self._url = f"ws{host.url.removeprefix('http')}{PREFIX}/tunnel"

    async def keep_open(self) -> None:
        """Keeps open the tunnel through which the host's sandboxes reach the app server, until the task is
        cancelled, and opens the tunnel again after errors. The host's event `is_ready` is set while the
        tunnel is open.
        """
        while True:
            try:
                async with self._connect("") as control:
                    self._host.is_ready.set()
                    logger.info("a sandbox host is connected", extra={"host": self._host.name})
                    async for name in control:
                        self._background.start(self._carry(str(name)), name="connection of a sandbox")
            except InvalidStatus as error:
                extra = {"host": self._host.name, "cause": _refusal_text(error)}
                logger.warning("a sandbox host refuses us", extra=extra)
            except (OSError, TimeoutError, InvalidHandshake, ConnectionClosed) as error:
                extra = {"host": self._host.name, "cause": str(error) or type(error).__name__}
                logger.warning("a sandbox host cannot be connected", extra=extra)
            finally:
                self._host.is_ready.clear()
            await asyncio.sleep(PAUSE_SECONDS)

    def _connect(self, name: str) -> connect:
        return connect(
            f"{self._url}/{name}" if name else self._url,
            additional_headers=dict(self._host.headers),
            ssl=self._tls,
            compression=None,
            proxy=None,
            open_timeout=OPEN_SECONDS,
            max_size=4 * PIECE_BYTES,
        )

    async def _carry(self, name: str) -> None:
        try:
            async with self._connect(name) as there:
                reader, writer = await asyncio.open_connection("127.0.0.1", self._inner_port)
                try:
                    await until_either_ends(_out(there, reader), _in(there, writer))
                finally:
                    writer.close()
        except (OSError, TimeoutError, InvalidHandshake, ConnectionClosed) as error:
            extra = {"host": self._host.name, "cause": str(error) or type(error).__name__}
            logger.info("a connection of a sandbox broke off", extra=extra)


async def _out(there: ClientConnection, reader: asyncio.StreamReader) -> None:
    while piece := await reader.read(PIECE_BYTES):
        await there.send(piece)


async def _in(there: ClientConnection, writer: asyncio.StreamWriter) -> None:
    async for piece in there:
        writer.write(piece if isinstance(piece, bytes) else piece.encode())
        await writer.drain()


def _refusal_text(error: InvalidStatus) -> str:
    return (error.response.body or b"").decode(errors="replace")[:500] or str(error)
