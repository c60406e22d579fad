"""Floods of one stranger, user or sandbox. Each ends after the seconds it is given."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.synchronize import Event

import httpx
import orjson

MIB = 1024**2
CLIENTS = 4
IDLE_CONNECTIONS = 500
_JSON = {"Content-Type": "application/json"}
_LONG_LIST = b'{"token": [' + b"0," * (9 * MIB) + b"0]}"
_SHALLOW = b"0035shallow " + b"a" * 40 + b"\n"


@dataclass(frozen=True)
class Target:
    """Ports of the server, and what the attacker was given."""

    port: int
    inner_port: int
    session_key: str
    api_key: str
    conversation_id: str

    @property
    def public(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def inner(self) -> str:
        return f"http://127.0.0.1:{self.inner_port}"

    @property
    def of_sandbox(self) -> dict[str, str]:
        return {"X-Session-API-Key": self.session_key, "Authorization": f"Bearer {self.session_key}"}


Attack = Callable[[httpx.AsyncClient, Target], Awaitable[object]]


def attack(name: str, target: Target, seconds: float, begun: Event) -> None:
    """In a separate process."""
    asyncio.run(_attack(FLOODS[name], target, seconds, begun))


async def _attack(flood: Attack, target: Target, seconds: float, begun: Event) -> None:
    ends = time.monotonic() + seconds

    async def again_and_again() -> None:
        async with httpx.AsyncClient(timeout=60) as client:
            while time.monotonic() < ends:
                # What refuses the flood may end the connection before all was sent.
                with suppress(httpx.TransportError, OSError):
                    await flood(client, target)

    begun.set()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.gather(*(again_and_again() for _ in range(CLIENTS)))


async def _bodies_of_strangers(client: httpx.AsyncClient, target: Target) -> None:
    await client.post(f"{target.public}/api/v1/sign-in/link", content=_LONG_LIST, headers=_JSON)


async def _bodies_of_a_user(client: httpx.AsyncClient, target: Target) -> None:
    headers = {**_JSON, "Authorization": f"Bearer {target.api_key}"}
    await client.post(f"{target.public}/api/v1/app-conversations", content=_LONG_LIST, headers=headers)


async def _model_calls(client: httpx.AsyncClient, target: Target) -> None:
    body = b'{"model":"bench","messages":[{"role":"user","content":"' + b"x" * (18 * MIB) + b'"}]}'
    url = f"{target.inner}/llm/bench/v1/chat/completions"
    await client.post(url, content=body, headers={**_JSON, **target.of_sandbox})


async def _pushes(client: httpx.AsyncClient, target: Target) -> None:
    async def lines() -> AsyncIterator[bytes]:
        for _ in range(4 * MIB // (64 * 1024)):
            yield _SHALLOW * (64 * 1024 // len(_SHALLOW))

    url = f"{target.inner}/git/git.example/a/b.git/git-receive-pack"
    await client.post(url, content=lines(), headers=target.of_sandbox)


async def _reports(client: httpx.AsyncClient, target: Target) -> None:
    """A log of 200 long events, from its beginning: most of it is known already."""
    event = {"timestamp": "2026-11-20T20:55:11.603891", "source": "agent", "kind": "PauseEvent"}
    frames = [
        {"type": "durable", "seq": seq, "event": {**event, "id": f"event-{seq}", "text": "x" * 5000}}
        for seq in range(1, 201)
    ]
    url = f"{target.inner}/api/v1/webhooks/events/{target.conversation_id}"
    body = orjson.dumps({"frames": frames})
    await client.post(url, content=body, headers={**_JSON, **target.of_sandbox})


async def _ways_out(_client: httpx.AsyncClient, target: Target) -> None:
    """Tunnels to hosts that are not allowed, each another one."""
    host = f"host-{time.monotonic_ns()}.example:443"
    reader, writer = await asyncio.open_connection("127.0.0.1", target.inner_port)
    writer.write(
        f"CONNECT {host} HTTP/1.1\r\nProxy-Authorization: Bearer {target.session_key}\r\n\r\n".encode()
    )
    await reader.read()
    writer.close()


async def _idle_connections(_client: httpx.AsyncClient, target: Target) -> None:
    writers = [
        (await asyncio.open_connection("127.0.0.1", target.inner_port))[1] for _ in range(IDLE_CONNECTIONS)
    ]
    await asyncio.sleep(1)
    for writer in writers:
        writer.close()


FLOODS: dict[str, Attack] = {
    "bodies of 18 MB, of strangers": _bodies_of_strangers,
    "bodies of 18 MB, of a user": _bodies_of_a_user,
    "model calls of 18 MB": _model_calls,
    "pushes of 80,000 shallow lines": _pushes,
    "reports of 1 MB": _reports,
    "tunnels to hosts that are refused": _ways_out,
    "2,000 idle connections": _idle_connections,
}
