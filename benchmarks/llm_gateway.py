"""Measures how much time the LLM gateway adds to a model's reply, and how much memory it uses for many
replies at once.

    .venv/bin/python -m benchmarks.llm_gateway [CALLS] [STREAMS]

A simulated model vendor streams replies at a steady pace. One process sends the same calls in turn directly
to the vendor and through the app server. So only the gateway makes a difference. Of the calls through the
gateway, one half is made by a user without a spending limit and the other half by a user with a limit. Calls
with a limit take longer, because money is reserved before each call.

On a busy machine, only the CPU seconds are reliable.
"""

import asyncio
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import httpx
import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import Conversation
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import Cipher, load_cipher
from app_server.headless.server_process import free_ports
from app_server.llm_gateway.limits.spending import to_micros, user_account
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.settings.profiles import save_profile
from app_server.settings.schemas import LLMSettings
from app_server.users.models import Role, User
from app_server.users.service import create_user
from app_server.users.tokens import new_token, token_hash
from benchmarks import process
from benchmarks.app_process import running

TOKENS = 100
TOKENS_PER_SECOND = 20
_WARM_UP = 10
_NO_LIMITS = {"SLIPWAY_LLM_CALLS_PER_SANDBOX": "1000", "SLIPWAY_LLM_CALLS_PER_USER": "1000"}
"""The environment variables that raise the limits for simultaneous model calls. All streams of this benchmark
come from one sandbox, so the default limits would stop them.
"""
_MESSAGES = [{"role": "user", "content": "x" * 4000}]


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    streams = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    asyncio.run(_measure(calls, streams))


async def _measure(calls: int, streams: int) -> None:
    vendor_port, port, inner_port = free_ports(3)
    vendor = multiprocessing.get_context("spawn").Process(
        target=_serve_vendor, args=(vendor_port,), daemon=True
    )
    vendor.start()
    try:
        with tempfile.TemporaryDirectory(prefix="slipway-bench-") as directory:
            config = Config(
                home=Path(directory) / "home", sandbox="process", port=port, inner_port=inner_port
            )
            async with running(config, environment=_NO_LIMITS) as pid:
                direct = Way("direct", vendor_port, "/v1", "any")
                gateway = partial(Way, port=inner_port, path="/llm/bench/v1")
                free, limited = await _set_up(config, f"http://127.0.0.1:{vendor_port}/v1")
                ways = [gateway("gateway", key=free), gateway("gateway, with a limit", key=limited)]
                await _first_tokens(calls, direct, ways, pid)
                await _streams(streams, ways[1], pid)
    finally:
        vendor.terminate()
        vendor.join()


@dataclass(frozen=True)
class Way:
    """A way to call the model: directly at the vendor or through the gateway. `name`: the name in the output.
    `key`: the credential that is sent with each call.
    """

    name: str
    port: int
    path: str
    key: str

    @property
    def bearer(self) -> str:
        return f"Bearer {self.key}"


async def _first_tokens(calls: int, direct: Way, ways: list[Way], pid: int) -> None:
    taken: dict[Way, list[float]] = {way: [] for way in (direct, *ways)}
    cpu = dict.fromkeys(taken, 0.0)
    async with httpx.AsyncClient(timeout=60) as client:
        for _ in range(_WARM_UP):
            for way in taken:
                await _first_token(client, way)
        for _ in range(calls):
            for way, values in taken.items():
                before = process.cpu_seconds([pid])
                values.append(await _first_token(client, way))
                cpu[way] += process.cpu_seconds([pid]) - before
    print(f"first token, direct: {_percentiles(taken[direct])} ms")
    for way in ways:
        added = [through - straight for straight, through in zip(taken[direct], taken[way], strict=True)]
        spent = 1000 * cpu[way] / calls
        print(f"first token, {way.name}: {_percentiles(added)} ms added; {spent:.1f} CPU ms per call")


async def _streams(count: int, way: Way, pid: int) -> None:
    idle = process.resident_mib(pid)
    cpu, began = process.cpu_seconds([pid]), time.monotonic()
    most = asyncio.create_task(_highest_memory(pid))
    counts = await asyncio.gather(*(_stream_reply(way) for _ in range(count)))
    seconds, cpu_used = time.monotonic() - began, process.cpu_seconds([pid]) - cpu
    most.cancel()
    assert counts == [TOKENS] * count, "a stream came incomplete"
    print(
        f"{count} streams of {TOKENS} tokens at {TOKENS_PER_SECOND}/s: {seconds:.1f} s "
        f"(alone {TOKENS / TOKENS_PER_SECOND:.1f} s), {cpu_used:.1f} CPU s, "
        f"{idle:.0f} MiB before, {max(await most):.0f} MiB at most"
    )


async def _first_token(client: httpx.AsyncClient, way: Way) -> float:
    """Makes one model call and returns how many milliseconds pass until the first token arrives."""
    began, taken = time.perf_counter(), 0.0
    url, headers = f"http://127.0.0.1:{way.port}{way.path}/chat/completions", {"Authorization": way.bearer}
    async with client.stream("POST", url, headers=headers, json=_request(tokens=1)) as reply:
        reply.raise_for_status()
        async for line in reply.aiter_lines():
            if not taken and line.startswith("data: {"):
                taken = time.perf_counter() - began
    return 1000 * taken


async def _stream_reply(way: Way) -> int:
    """Makes one model call, reads the whole streamed reply, and returns the number of tokens. Uses no HTTP
    client library, because the library would use more CPU time than the gateway that is measured.
    """
    body = orjson.dumps(_request(tokens=TOKENS))
    reader, writer = await asyncio.open_connection("127.0.0.1", way.port)
    writer.write(
        f"POST {way.path}/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {way.bearer}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
        + body
    )
    count = 0
    while line := await reader.readline():
        count += b'"content"' in line
    writer.close()
    return count


def _request(*, tokens: int) -> dict[str, object]:
    return {"model": "bench", "messages": _MESSAGES, "stream": True, "max_tokens": tokens}


async def _highest_memory(pid: int) -> list[float]:
    seen = [process.resident_mib(pid)]
    try:
        while True:
            await asyncio.sleep(0.2)
            seen.append(process.resident_mib(pid))
    except asyncio.CancelledError:
        return seen


def _percentiles(values: list[float]) -> str:
    cuts = statistics.quantiles(values, n=20)
    return f"{statistics.median(values):.2f} / {cuts[-1]:.2f} (p50 / p95)"


async def _set_up(config: Config, vendor_url: str) -> tuple[str, str]:
    """Creates two users with a model profile that has prices. The second user has a spending limit that the
    calls do not reach. Returns the session key of a sandbox of each user.
    """
    database, cipher = Database(config.resolved_database_url), load_cipher(config)
    async with database.session() as session:
        free = await create_user(session, name="Free", role=Role.ADMIN)
        limited = await create_user(session, name="Limited", role=Role.ADMIN)
        keys = [await _sandbox_of(session, cipher, user, vendor_url) for user in (free, limited)]
        (await user_account(session, limited.id)).allowed = to_micros(1000)
    await database.close()
    return keys[0], keys[1]


async def _sandbox_of(session: AsyncSession, cipher: Cipher, user: User, vendor_url: str) -> str:
    """Stores a model profile, a conversation and a sandbox for the user, and returns the session key of the
    sandbox. The sandbox is only a database row; no agent server runs in it.
    """
    key = new_token()
    llm = {"model": "openai/bench", "base_url": vendor_url, "api_key": "k"}
    prices = {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}
    await save_profile(session, cipher, user.id, "bench", LLMSettings.model_validate(llm | prices))
    conversation_id = uuid4()
    session.add(Conversation(id=conversation_id, user_id=user.id, llm_profile="bench", last_seq=0))
    session.add(
        Sandbox(
            id=conversation_id,
            user_id=user.id,
            status=SandboxStatus.PAUSED,
            session_key_hash=token_hash(key),
            encrypted_session_key=cipher.encrypt(key),
            spec_id="process",
        )
    )
    return key


def _serve_vendor(port: int) -> None:
    os.nice(-5) if os.geteuid() == 0 else None  # it must not be what is waited for
    asyncio.run(_vendor(port))


async def _vendor(port: int) -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", port)
    await server.serve_forever()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(
                int(line.split(b":")[1])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length")
            )
            tokens = orjson.loads(await reader.readexactly(length))["max_tokens"]
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            for number in range(tokens):
                if number:
                    await asyncio.sleep(1 / TOKENS_PER_SECOND)
                _write_chunk(writer, {"choices": [{"index": 0, "delta": {"content": "word "}}]})
                await writer.drain()
            _write_chunk(
                writer, {"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": tokens}}
            )
            end = b"data: [DONE]\n\n"
            writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(end), end))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        return
    finally:
        writer.close()


def _write_chunk(writer: asyncio.StreamWriter, event: dict[str, object]) -> None:
    data = b"data: " + orjson.dumps(event) + b"\n\n"
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))


if __name__ == "__main__":
    main()
