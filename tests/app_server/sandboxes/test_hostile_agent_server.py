"""Tests of an agent server that an attacker controls: no answer stops the app server."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import httpx
import pytest

from app_server.agent_client import calls as agent_calls
from app_server.agent_client import client as agent_client
from app_server.agent_client import files as agent_files
from app_server.agent_client.bounded_replies import BoundedTransport
from app_server.agent_client.calls import NoAnswer
from app_server.agent_client.client import AgentClient
from app_server.core.errors import BadGateway
from tests.support.patience import PATIENCE_SECONDS

KIBIBYTE = 1024
MEBIBYTE = 1024**2
HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


async def endlessly(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"\r\n[")
    while not writer.is_closing():
        writer.write(b"1," * (512 * KIBIBYTE))
        await writer.drain()


async def by_drops(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"\r\n")
    while not writer.is_closing():
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.01)


@cache
def bomb() -> bytes:
    return gzip.compress(bytes(256 * MEBIBYTE))


async def packed(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"Content-Encoding: gzip\r\n\r\n" + bomb())
    await writer.drain()


async def in_other_words(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b'\r\n{"idle_time": {"nested": []}}')
    await writer.drain()


async def not_in_json(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"\r\n\xff\xfe<html>")
    await writer.drain()


async def by_sending_elsewhere(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 307 Go\r\nConnection: close\r\nLocation: file:///etc/passwd\r\n\r\n")
    await writer.drain()


ANSWERS = (endlessly, by_drops, packed, in_other_words, not_in_json, by_sending_elsewhere)


@asynccontextmanager
async def hostile(answer: Answer) -> AsyncIterator[AgentClient]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await answer(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    transport = BoundedTransport(httpx.AsyncHTTPTransport(), max_bytes=8 * MEBIBYTE)
    async with server, httpx.AsyncClient(transport=transport) as http:
        yield AgentClient(http, url, "key")


@pytest.fixture(autouse=True)
def short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_calls, "TIMEOUT_SECONDS", 1.0)
    monkeypatch.setattr(agent_client, "HEALTH_TIMEOUT_SECONDS", 0.5)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.__name__)
async def test_whatever_it_answers_is_a_refusal_in_time_and_within_bounds(answer: Answer) -> None:
    before = getrusage(RUSAGE_SELF).ru_maxrss
    async with asyncio.timeout(PATIENCE_SECONDS), hostile(answer) as client:
        assert await client.idle_seconds() is None
        assert not await client.is_healthy()
        with pytest.raises(BadGateway) as refusal:
            await client.git_changes("/workspace/project")

    assert refusal.value.code == "agent_server_error"
    assert (getrusage(RUSAGE_SELF).ru_maxrss - before) * KIBIBYTE < 128 * MEBIBYTE


async def test_a_file_that_it_takes_for_ever_to_take_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_files, "UPLOAD_TIMEOUT_SECONDS", 1.0)
    (tmp_path / "bundle").write_bytes(b"x")
    async with asyncio.timeout(PATIENCE_SECONDS), hostile(by_drops) as client:
        with pytest.raises(BadGateway):
            await client.upload_file(tmp_path / "bundle", "/workspace/x")


async def test_calls_under_way_end_with_the_machine_whatever_arrives_of_its_connections() -> None:
    asked: asyncio.Queue[None] = asyncio.Queue()

    async def not_at_all(_writer: asyncio.StreamWriter) -> None:
        asked.put_nowait(None)
        await asyncio.Event().wait()

    async with asyncio.timeout(PATIENCE_SECONDS), hostile(not_at_all) as client:
        calls = [client.execute_command("sleep 600"), client.git_patch("/workspace/project")]
        under_way = asyncio.gather(*calls, return_exceptions=True)
        for _ in calls:
            await asked.get()
        client.end_calls()

        assert [type(outcome) for outcome in await under_way] == [NoAnswer, NoAnswer]
