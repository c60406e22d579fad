"""Tests of connections that send nothing or too little, to the listener for sandboxes and to the public
listener.
"""

import asyncio
import errno
import logging
import socket
import weakref
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from uvicorn import Config as ServerConfig
from uvicorn.server import ServerState

from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import load_cipher
from app_server.egress.egress_log import EgressLog
from app_server.egress.proxy import EgressProxy
from app_server.egress.shared_port import same_port
from app_server.egress.tls.authority import load_authority
from app_server.http import connection_limits as connections
from app_server.http.connection_limits import ConnectionLimits, limited_http, throttle_accept_errors
from app_server.http.listeners import ACCEPTED_AT_ONCE
from tests.app_server.conftest import App
from tests.attacks.floods.conftest import served
from tests.support.patience import PATIENCE_SECONDS

HEAD_SECONDS = 0.2
TOTAL = 20


async def nothing(_host: str) -> list[str]:
    return []


async def no_repositories(*_: object) -> list[str | None]:
    return []


@pytest.fixture
def way_out(app: App) -> EgressProxy:
    config: Config = app.config
    database: Database = app.database
    cipher = load_cipher(config)
    egress_log = EgressLog(database, lambda _sandbox_id: None)
    authority = load_authority(config, cipher)
    return EgressProxy(
        config, database, cipher, authority, egress_log, no_repositories, nothing, head_seconds=HEAD_SECONDS
    )


@pytest.fixture
async def inner_port(app: App, way_out: EgressProxy) -> AsyncIterator[int]:
    protocol = same_port(way_out.serve, ConnectionLimits(TOTAL, TOTAL), HEAD_SECONDS)
    async with served(app.inner, protocol) as port:
        yield port


@pytest.fixture
async def public_port(app: App) -> AsyncIterator[int]:
    protocol = limited_http(ConnectionLimits(TOTAL, TOTAL), HEAD_SECONDS)
    async with served(app.public, protocol) as port:
        yield port


async def is_cut_off(port: int, begun: bytes) -> bool:
    """Returns whether the server closes a connection without an answer after the connection
    has sent `begun`.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(begun)
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await reader.read() == b""
    except ConnectionResetError:
        return True
    finally:
        writer.close()


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"G",
        b"GET /health HTTP/1.1\r\nHost: x\r\n",
        b"CONN",
        b"CONNECT ",
        b"CONNECT a.test:443 HTTP/1.1\r\n",
    ],
)
async def test_what_sandboxes_begin_and_do_not_end_is_cut_off(inner_port: int, begun: bytes) -> None:
    assert await is_cut_off(inner_port, begun)


@pytest.mark.parametrize("begun", [b"", b"POST /sign-in/link HTTP/1.1\r\nHost: localhost\r\nX: "])
async def test_what_visitors_begin_and_do_not_end_is_cut_off(public_port: int, begun: bytes) -> None:
    assert await is_cut_off(public_port, begun)


async def test_a_second_request_has_no_longer_for_its_head(public_port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", public_port)
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
    writer.write(request + b"\r\n" + request)
    async with asyncio.timeout(PATIENCE_SECONDS):
        with pytest.raises(asyncio.IncompleteReadError):
            await reader.readexactly(10**6)
    writer.close()


async def test_idle_connections_take_no_more_than_their_share(app: App, inner_port: int) -> None:
    async with served(app.public) as public_port, httpx.AsyncClient(timeout=PATIENCE_SECONDS) as client:
        before = _open_files()
        held = [socket.create_connection(("127.0.0.1", inner_port)) for _ in range(4 * TOTAL)]
        try:
            reply = await client.get(f"http://127.0.0.1:{public_port}/health")
            assert reply.status_code == 200
            assert _open_files() - len(held) - before < 2 * TOTAL
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not await _answers(client, inner_port):  # noqa: ASYNC110 (nothing to wait for but the deadline)
                    await asyncio.sleep(0.02)
        finally:
            for one in held:
                one.close()


async def test_connections_that_come_at_once_are_taken_in_small_groups() -> None:
    """Between two groups the event loop serves other connections."""
    came: list[asyncio.BaseTransport] = []

    class Counting(asyncio.Protocol):
        def __init__(self, **_: object) -> None: ...

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            came.append(transport)

    async with served(FastAPI(), Counting) as port:
        waiting = [socket.create_connection(("127.0.0.1", port)) for _ in range(6 * ACCEPTED_AT_ONCE)]
        groups = [0]
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(came) < len(waiting):
                before = len(came)
                await asyncio.sleep(0)
                groups.append(len(came) - before)
        for one in (*waiting, *came):
            one.close()
    assert max(groups) <= ACCEPTED_AT_ONCE


def _open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def _answers(client: httpx.AsyncClient, port: int) -> bool:
    try:
        return (await client.get(f"http://127.0.0.1:{port}/health")).status_code == 200
    except httpx.TransportError:
        return False


async def test_one_address_leaves_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_is_closed", lambda _transport: False)
    limits = ConnectionLimits(total=10, of_one_address=4)
    came = [limits.admit(_from("172.30.0.2")) for _ in range(6)]
    assert came == [True] * 4 + [False] * 2
    assert limits.admit(_from("172.30.0.3"))
    # One machine usually has a whole IPv6 network, so all addresses of the network count as one.
    assert [limits.admit(_from(f"2001:db8::{number}")) for number in range(1, 6)] == [True] * 4 + [False]
    assert not limits.admit(_from("::ffff:172.30.0.2"))
    assert limits.admit(_from("127.8.8.8"))
    assert not limits.admit(_from("172.30.0.9"))


class _Transport(asyncio.Transport):
    def __init__(self, address: str) -> None:
        super().__init__({"peername": (address, 1)})


def _from(address: str) -> asyncio.Transport:
    return _Transport(address)


async def test_a_process_without_file_descriptors_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.get_running_loop()
    throttle_accept_errors()
    try:
        with caplog.at_level(logging.ERROR):
            for _ in range(2000):
                error = OSError(errno.EMFILE, "Too many open files")
                loop.call_exception_handler({"message": "out", "exception": error, "socket": None})
    finally:
        loop.set_exception_handler(None)
    assert len(caplog.records) == 1


async def test_an_ended_connection_waits_for_no_garbage_collection(app: App, way_out: EgressProxy) -> None:
    protocol = same_port(way_out.serve, ConnectionLimits(TOTAL, TOTAL), HEAD_SECONDS)
    config = ServerConfig(app.inner, lifespan="off")
    ended = weakref.ref(protocol(config, ServerState(), {}))  # type: ignore[call-arg]
    assert ended() is None
