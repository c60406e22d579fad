"""Floods of requests to the app server, each from one attacker: a visitor without an account, a user or a
sandbox. Each flood ends after a given number of seconds.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.synchronize import Event

import httpx
import orjson

from benchmarks.slow_names import ZONE

MIB = 1024**2
CLIENTS = 4
IDLE_CONNECTIONS = 500
AT_ONCE = 50
HELD_SECONDS = 5.0
_JSON = {"Content-Type": "application/json"}
_LONG_LIST = b'{"token": [' + b"0," * (9 * MIB) + b"0]}"
_SHALLOW = b"0035shallow " + b"a" * 40 + b"\n"


@dataclass(frozen=True)
class Target:
    """The ports of the app server, and the attacker's credentials and conversation. `inner_port`: the port
    for sandboxes. `silent_port`: the port of a model server that accepts calls and never answers; the model
    profile `silent` names it. `session_key`: the key of a sandbox.
    """

    port: int
    inner_port: int
    silent_port: int
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


_next_seqs: dict[str, int] = {}

Attack = Callable[[httpx.AsyncClient, Target], Awaitable[object]]


def attack(name: str, target: Target, seconds: float, begun: Event) -> None:
    """Runs the flood with this name for the given number of seconds. This function is called in a separate
    process. `begun`: an event that is set when the flood begins.
    """
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
    """Sends the first 200 events of a conversation's log to the app server, as a sandbox does. Each event has
    a long text. Each call sends the same events, so the app server already has most of them.
    """
    event = {"timestamp": "2026-11-20T20:55:11.603891", "source": "agent", "kind": "PauseEvent"}
    frames = [
        {"type": "durable", "seq": seq, "event": {**event, "id": f"event-{seq}", "text": "x" * 5000}}
        for seq in range(1, 201)
    ]
    url = f"{target.inner}/api/v1/webhooks/events/{target.conversation_id}"
    body = orjson.dumps({"frames": frames})
    await client.post(url, content=body, headers={**_JSON, **target.of_sandbox})


async def _ways_out(_client: httpx.AsyncClient, target: Target) -> None:
    """Asks the egress proxy for a tunnel to a host that is not allowed. Each call uses another host name."""
    host = f"host-{time.monotonic_ns()}.example:443"
    reader, writer = await asyncio.open_connection("127.0.0.1", target.inner_port)
    writer.write(_tunnel_to(host, target))
    await reader.read()
    writer.close()


def _tunnel_to(host: str, target: Target) -> bytes:
    key = f"Proxy-Authorization: Bearer {target.session_key}"
    return f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n{key}\r\n\r\n".encode()


async def _idle_connections(_client: httpx.AsyncClient, target: Target) -> None:
    await _hold(target.inner_port)


async def _hold(port: int) -> None:
    writers = [(await asyncio.open_connection("127.0.0.1", port))[1] for _ in range(IDLE_CONNECTIONS)]
    await asyncio.sleep(1)
    for writer in writers:
        writer.close()


async def _idle_visitors(_client: httpx.AsyncClient, target: Target) -> None:
    await _hold(target.port)


async def _requests_one_by_one(_client: httpx.AsyncClient, target: Target) -> None:
    """Sends 50 requests at the same time, each on a new connection. Waits for all replies."""

    async def visit() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
        writer.write(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        await reader.read()
        writer.close()

    await asyncio.gather(*(visit() for _ in range(AT_ONCE)))


async def _calls_of_a_silent_model(client: httpx.AsyncClient, target: Target) -> None:
    """Begins 50 calls at the same time to a model that never answers. Calls that the app server accepts stay
    open for five seconds.
    """

    async def take(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError):  # the flood has ended
            await asyncio.sleep(HELD_SECONDS)
        writer.close()

    async def ask() -> None:
        with suppress(httpx.TransportError):
            await client.post(url, content=body, headers=headers, timeout=HELD_SECONDS)

    with suppress(OSError):  # one of the clients serves it for all
        await asyncio.start_server(take, "127.0.0.1", target.silent_port)
    url = f"{target.inner}/llm/silent/v1/chat/completions"
    headers = {**_JSON, **target.of_sandbox}
    body = b'{"model":"silent","messages":[{"role":"user","content":"hello"}]}'
    await asyncio.gather(*(ask() for _ in range(AT_ONCE)))


async def _new_events(client: httpx.AsyncClient, target: Target) -> None:
    """Sends 200 new events of a conversation to the app server, as a sandbox does. Their sequence numbers
    begin at 201 in the first call, and continue in each further call.
    """
    event = {"timestamp": "2026-11-20T20:55:11.603891", "source": "agent", "kind": "PauseEvent"}
    first = _next_seqs.setdefault(target.conversation_id, 201)
    _next_seqs[target.conversation_id] = first + 200
    frames = [
        {"type": "durable", "seq": seq, "event": {**event, "id": f"event-{seq}", "text": "x" * 500}}
        for seq in range(first, first + 200)
    ]
    url = f"{target.inner}/api/v1/webhooks/events/{target.conversation_id}"
    await client.post(url, content=orjson.dumps({"frames": frames}), headers={**_JSON, **target.of_sandbox})


async def _slow_ways_out(_client: httpx.AsyncClient, target: Target) -> None:
    """Asks the egress proxy for 50 tunnels at the same time. The hosts are allowed, but their names cannot be
    resolved.
    """

    async def ask(number: int) -> None:
        host = f"host-{time.monotonic_ns()}-{number}.{ZONE}:443"
        reader, writer = await asyncio.open_connection("127.0.0.1", target.inner_port)
        writer.write(_tunnel_to(host, target))
        with suppress(TimeoutError):
            async with asyncio.timeout(HELD_SECONDS):
                await reader.read()
        writer.close()

    await asyncio.gather(*map(ask, range(AT_ONCE)))


FLOODS: dict[str, Attack] = {
    "bodies of 18 MB, of strangers": _bodies_of_strangers,
    "bodies of 18 MB, of a user": _bodies_of_a_user,
    "model calls of 18 MB": _model_calls,
    "pushes of 80,000 shallow lines": _pushes,
    "reports of 1 MB": _reports,
    "tunnels to hosts that are refused": _ways_out,
    "2,000 idle connections": _idle_connections,
    "2,000 idle connections, of strangers": _idle_visitors,
    "connections for one request, 200 at a time": _requests_one_by_one,
    "200 calls of a model that does not answer": _calls_of_a_silent_model,
    "new events without end": _new_events,
    "200 tunnels to names that take 5 s": _slow_ways_out,
}
