"""Tests of HTTP requests that two parsers could read in different ways."""

import asyncio

import pytest

from tests.app_server.egress.conftest import WayOut
from tests.support.outside import own_address

pytestmark = pytest.mark.low_ports


def says(text: str):
    return lambda _host, _path: (200, {}, text.encode())


async def test_a_tunnel_to_port_80_carries_requests_for_the_host_it_was_asked_for(way_out: WayOut) -> None:
    request = b"GET /%d HTTP/1.1\r\nHost: elsewhere.test\r\nConnection: %s\r\n\r\n"
    async with way_out.site("allowed.test", says("hello"), tls=False) as site:
        said = await way_out.raw(
            "CONNECT allowed.test:80 HTTP/1.1",
            "Host: allowed.test",
            then=request % (1, b"keep-alive") + request % (2, b"close"),
        )
    assert said.count(b"hello") == 2
    assert site.seen == [("GET", "allowed.test", "/1"), ("GET", "allowed.test", "/2")]


@pytest.mark.parametrize(
    "sent",
    [
        b"SSH-2.0-me\r\n\r\n",
        b"\x16\x03\x01\x00\x05hello",
        b"GET http://elsewhere.test/ HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
async def test_a_tunnel_to_port_80_carries_nothing_else(way_out: WayOut, sent: bytes) -> None:
    async with way_out.site("allowed.test", says("hello"), tls=False) as site:
        said = await way_out.raw("CONNECT allowed.test:80 HTTP/1.1", "Host: x", then=sent)
    assert b"hello" not in said
    assert b"X-Slipway-Egress: not_http" in said
    assert not site.seen


async def test_no_length_is_passed_on_beside_chunks(way_out: WayOut) -> None:
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        await reader.readuntil(b"0\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.close()

    address = own_address()
    way_out.dns.answers["allowed.test"] = [[address]]
    async with await asyncio.start_server(answer, address, 80):
        said = await way_out.raw(
            "POST http://allowed.test/ HTTP/1.1",
            "Host: allowed.test",
            "Content-Length: 4",
            "Transfer-Encoding: chunked",
            then=b"5\r\nhello\r\n0\r\n\r\n",
        )
    assert said.endswith(b"ok")
    assert b"transfer-encoding: chunked" in heads[0].lower()
    assert b"content-length" not in heads[0].lower()
