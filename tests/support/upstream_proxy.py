"""A company's HTTP proxy: it requires a password and looks up hosts in its own table."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

USER, PASSWORD = "slipway", "a-company-password"


@dataclass
class UpstreamProxy:
    """The proxy. hosts: the address for each host name; other hosts are refused. asked: the first line of
    each request.
    """

    port: int = 0
    hosts: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{USER}:{PASSWORD}@127.0.0.1:{self.port}"


@asynccontextmanager
async def upstream_proxy() -> AsyncIterator[UpstreamProxy]:
    found = UpstreamProxy()
    tasks: set[asyncio.Task[None]] = set()
    wanted = "basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            line, _, headers = head.partition("\r\n")
            found.asked.append(line)
            method, target, _ = line.split(" ")
            host, _, port = target.removeprefix("http://").partition("/")[0].partition(":")
            if wanted not in headers.replace("Basic", "basic"):
                writer.write(b"HTTP/1.1 407 Who are you?\r\nContent-Length: 0\r\n\r\n")
            elif host not in found.hosts:
                writer.write(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
            else:
                there = await asyncio.open_connection(found.hosts[host], int(port or 80))
                if method == "CONNECT":
                    writer.write(b"HTTP/1.1 200 Here you are\r\n\r\n")
                else:
                    path = target.removeprefix("http://").partition("/")[2]
                    there[1].write(f"{method} /{path} HTTP/1.1\r\n{headers}".encode())
                await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer))
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(64 * 1024):
            writer.write(piece)
            await writer.drain()
    finally:
        writer.close()
