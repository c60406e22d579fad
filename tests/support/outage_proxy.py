"""A TCP proxy on loopback, in the test's own event loop, that simulates outages of a service.

async with OutageProxy(port) as proxy: clients connect to `proxy.port`. `gone()` and `frozen()` begin an
outage, `back()` ends it; `send_to_clients()` sends forged data.
"""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self


class OutageProxy:
    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._server: asyncio.Server | None = None
        self._flows = asyncio.Event()
        self._flows.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._clients: set[asyncio.StreamWriter] = set()
        self.port = 0

    async def __aenter__(self) -> Self:
        await self._listen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.gone()

    async def gone(self) -> None:
        """Stops listening and resets every connection."""
        if self._server:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()
        self._flows.set()
        await asyncio.sleep(0)

    def frozen(self) -> None:
        """Keeps connections open and accepts new ones, but forwards no data."""
        self._flows.clear()

    async def back(self) -> None:
        self._flows.set()
        if self._server is None:
            await self._listen()

    def send_to_clients(self, data: bytes) -> None:
        """Sends bytes to the client of every open connection, as if they came from the service."""
        for client in self._clients:
            client.write(data)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            await self._flows.wait()
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
        except OSError:
            writer.transport.abort()
            return
        finally:
            self._writers.discard(writer)
        self._writers |= {writer, far_writer}
        self._clients.add(writer)
        await asyncio.gather(self._copy(reader, far_writer), self._copy(far_reader, writer))
        self._writers -= {writer, far_writer}
        self._clients.discard(writer)

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await source.read(65536):
                await self._flows.wait()
                target.write(piece)
                await target.drain()
        target.close()
