"""Tests of an HTTP client whose connections are opened by a function that the caller passes."""

import asyncio
import socket

import httpx
import pytest

from agent_runtime.relay.http import new_transport
from agent_runtime.workspace.network import dial, listen

ADDRESS = "127.0.0.1"


async def test_a_kept_connection_is_used_again_until_the_other_end_closes_it() -> None:
    dialled, writers = [], []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        while await reader.readline():
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

    async def noted(host: str, port: int) -> socket.socket:
        dialled.append((host, port))
        return await dial(host, port)

    listener = await listen(ADDRESS, 0)
    port = listener.getsockname()[1]
    server = await asyncio.start_server(answer, sock=listener)
    async with server, httpx.AsyncClient(transport=new_transport(dial=noted)) as client:
        url = f"http://{ADDRESS}:{port}/"
        assert [(await client.get(url)).text for _ in range(3)] == ["hello"] * 3
        assert dialled == [(ADDRESS, port)]
        writers[0].close()
        await writers[0].wait_closed()
        assert (await client.get(url)).text == "hello"
        assert len(dialled) == 2
        writers[1].close()


async def test_a_refused_connection_and_a_broken_reply_are_errors() -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    listener = await listen(ADDRESS, 0)
    url = f"http://{ADDRESS}:{listener.getsockname()[1]}/"
    async with httpx.AsyncClient(transport=new_transport(dial=dial)) as client:
        async with await asyncio.start_server(hang_up, sock=listener):
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                await client.get(url)
        with pytest.raises(httpx.ConnectError):
            await client.get(url)
