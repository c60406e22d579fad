"""Tests of the outlet: a relay that adds the session key to git and model requests and sends them to the app
server.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from agent_runtime.secrets.masking import MASK, Masker
from agent_runtime.server.outgoing.git_relay import GitRelay
from agent_runtime.server.outgoing.request_body import MAX_BYTES
from tests.support.patience import PATIENCE_SECONDS

KEY = "session-key-0d2f"
SECRET = "deploy-key-0451"
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: (\d+)")


@dataclass
class Place:
    """An outlet in front of a server that plays the app server. seen: the requests that
    reached this server.
    """

    outlet: GitRelay
    seen: list[bytes] = field(default_factory=list)

    @property
    def path(self) -> str:
        return "/" + self.outlet.url.rpartition("/")[2]

    async def send(self, head: str) -> bytes:
        host, _, port = self.outlet.url.removeprefix("http://").partition("/")[0].partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            writer.write(head.encode("latin-1"))
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()


@asynccontextmanager
async def opened() -> AsyncIterator[Place]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        place.seen.append(head + await reader.readexactly(int(length[1]) if length else 0))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nfound")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    inner = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    place = Place(GitRelay(f"{inner}/api/v1/webhooks", lambda: KEY))
    await place.outlet.open(0)
    try:
        yield place
    finally:
        await place.outlet.close()
        server.close()
        await server.wait_closed()


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
async def test_the_key_is_added_and_what_a_command_says_of_itself_is_left_out(method: str) -> None:
    async with opened() as place:
        head = (
            f"{method} {place.path}/github.com/a/b/info/refs?service=git-upload-pack HTTP/1.1\r\n"
            "Host: elsewhere\r\nx-session-api-key: forged\r\nx-slipway-git-outlet: forged\r\n"
            "Authorization: Bearer forged\r\n"
            "Cookie: forged\r\nGit-Protocol: version=2\r\n\r\n"
        )
        assert (await place.send(head)).endswith(b"found")
    (seen,) = place.seen
    lines = seen.decode().split("\r\n")
    assert lines[0] == f"{method} /git/github.com/a/b/info/refs?service=git-upload-pack HTTP/1.1"
    assert f"X-Session-API-Key: {KEY}" in lines
    assert f"X-Slipway-Git-Outlet: {place.outlet.url}" in lines
    assert "Git-Protocol: version=2" in lines
    assert "forged" not in seen.decode()
    assert "elsewhere" not in seen.decode()


@pytest.mark.parametrize(
    "head",
    [
        "GET /wrong/github.com/a/b/info/refs HTTP/1.1\r\n\r\n",
        "GET {path}/../api/v1/webhooks HTTP/1.1\r\n\r\n",
        "GET {path}/a HTTP/1.1 \r\n\r\n",
        "GET http://127.0.0.1{path}/a HTTP/1.1\r\n\r\n",
        "DELETE {path}/a HTTP/1.1\r\n\r\n",
        "GET {path}/a HTTP/1.0\r\n\r\n",
        "GET {path}/a\nX: y HTTP/1.1\r\n\r\n",
        "GET {path}/a HTTP/1.1\r\nX: y\nX-Session-API-Key: forged\r\n\r\n",
        "GET {path}/a HTTP/1.1\r\nX-Session-API-Key : forged\r\n\r\n",
        "GET {path}/a HTTP/1.1\r\nX: y\r\n folded\r\n\r\n",
        "GET {path}/a HTTP/1.1\r\nno header\r\n\r\n",
        "GET {path}/a HTTP/1.1\r\nX: " + "y" * 70_000 + "\r\n\r\n",
    ],
)
async def test_only_requests_of_git_are_passed_on(head: str) -> None:
    async with opened() as place:
        reply = await place.send(head.replace("{path}", place.path))
    assert reply.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 404 "))
    assert KEY.encode() not in reply
    assert place.seen == []


@pytest.mark.parametrize("method", ["content-length", "chunked"])
async def test_a_prompt_is_masked_however_it_is_framed(method: str) -> None:
    masker = Masker()
    masker.learn([SECRET])
    body = f'{{"input":"{SECRET}"}}'
    async with opened() as place:
        head = f"POST {place.path}-models/v1/responses HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
        if method == "chunked":
            first, rest = body[:14], body[14:]
            parts = f"{len(first):x}\r\n{first}\r\n{len(rest):x}\r\n{rest}\r\n0\r\n\r\n"
            sent = f"{head}Transfer-Encoding: chunked\r\n\r\n{parts}"
        else:
            sent = f"{head}Content-Length: {len(body)}\r\n\r\n{body}"
        assert (await place.send(sent)).endswith(b"found")
    (seen,) = place.seen
    lines, _, got = seen.partition(b"\r\n\r\n")
    assert got == f'{{"input":"{MASK}"}}'.encode()
    assert lines.lower().count(b"content-length") == 1
    assert b"chunked" not in lines
    assert b"Expect" not in lines


async def test_a_client_that_waits_for_a_permission_gets_it() -> None:
    async with opened() as place:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", int(place.outlet.url.split(":")[2].split("/")[0])
        )
        head = f"POST {place.path}-models/v1/responses HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
        writer.write(f"{head}Content-Length: 2\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 \r\n\r\n"
            writer.write(b"{}")
            assert (await reader.read()).endswith(b"found")
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("framing", "status"),
    [
        (f"Content-Length: {MAX_BYTES + 1}\r\n\r\n", b"413 "),
        ("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", b"400 "),
        ("Transfer-Encoding: chunked\r\n\r\nnot a length\r\n", b"400 "),
    ],
)
async def test_a_prompt_that_cannot_be_read_goes_nowhere(framing: str, status: bytes) -> None:
    async with opened() as place:
        head = f"POST {place.path}-models/v1/responses HTTP/1.1\r\nHost: x\r\n"
        assert (await place.send(head + framing)).startswith(b"HTTP/1.1 " + status)
    assert place.seen == []
