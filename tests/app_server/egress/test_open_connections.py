"""Tests of open connections: they are closed when the user withdraws the permission for the host, or when
the sandbox ends.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from sqlalchemy import delete, update

from app_server.core.addresses import parse_rule
from app_server.egress import settings
from app_server.egress.policy import EgressMode
from app_server.egress.settings import OF_USER
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.users.models import User
from tests.app_server.egress.conftest import KEY, WayOut
from tests.support.patience import PATIENCE_SECONDS


@dataclass
class Tunnel:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def says(self, text: bytes) -> bytes:
        """Sends the text to a server that repeats it. Returns the answer; empty means that the tunnel is
        closed.
        """
        self.writer.write(text)
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.reader.read(len(text))


@asynccontextmanager
async def tunnel(way_out: WayOut, owner: User) -> AsyncIterator[Tunnel]:
    """Allows one host, and opens a tunnel to it through the proxy. Yields the tunnel."""

    async def repeat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while piece := await reader.read(100):
                writer.write(piece)
        except ConnectionError:
            return
        finally:
            writer.close()

    server = await asyncio.start_server(repeat, "127.0.0.1", 0)
    place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with way_out.app.database.session() as session:
        await settings.allow(session, owner.id, OF_USER, parse_rule(place))
    reader, writer = await asyncio.open_connection("127.0.0.1", way_out.port)
    try:
        writer.write(
            f"CONNECT {place} HTTP/1.1\r\nProxy-Authorization: Bearer {KEY}\r\nHost: x\r\n\r\n".encode()
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        yield Tunnel(reader, writer)
    finally:
        writer.close()
        server.close()


async def disallow(way_out: WayOut, owner: User) -> None:
    async with way_out.app.database.session() as session:
        await settings.save(session, owner.id, OF_USER, None, [])


async def switch_off(way_out: WayOut, owner: User) -> None:
    async with way_out.app.database.session() as session:
        await settings.save(session, owner.id, OF_USER, EgressMode.NONE, [])


async def stop(way_out: WayOut, _owner: User) -> None:
    async with way_out.app.database.session() as session:
        await session.execute(update(Sandbox).values(status=SandboxStatus.PAUSED))


async def give_up(way_out: WayOut, _owner: User) -> None:
    async with way_out.app.database.session() as session:
        await session.execute(update(Sandbox).values(status=SandboxStatus.ERROR))


async def remove(way_out: WayOut, _owner: User) -> None:
    async with way_out.app.database.session() as session:
        await session.execute(delete(Sandbox).where(Sandbox.id == way_out.sandbox_id))


@pytest.mark.parametrize("change", [disallow, switch_off, stop, give_up, remove])
async def test_a_tunnel_ends_once_it_would_not_be_let_through_any_more(
    way_out: WayOut, owner: User, change: Callable[[WayOut, User], Awaitable[None]]
) -> None:
    async with tunnel(way_out, owner) as open_tunnel:
        assert await open_tunnel.says(b"hello") == b"hello"
        await way_out.proxy.end_forbidden()
        assert await open_tunnel.says(b"again") == b"again"

        await change(way_out, owner)
        await way_out.proxy.end_forbidden()
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await open_tunnel.reader.read() == b""


async def test_what_others_do_leaves_it_open(way_out: WayOut, owner: User) -> None:
    async with tunnel(way_out, owner) as open_tunnel:
        async with way_out.app.database.session() as session:
            await settings.allow(session, owner.id, OF_USER, parse_rule("more.test"))
        await way_out.proxy.end_forbidden()
        assert await open_tunnel.says(b"hello") == b"hello"
