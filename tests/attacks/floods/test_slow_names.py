"""Host names whose DNS servers do not answer must not delay other users."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from uuid import UUID, uuid4

import pytest

from app_server.http.guarded_client import FairResolver, system_resolver
from tests.support.patience import PATIENCE_SECONDS

NAMES = 100


@pytest.fixture
def slow_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Makes lookups of names with the prefix "slow" wait until a test sets the yielded event.
    Then they fail.
    """
    real, may_end = socket.getaddrinfo, threading.Event()

    def getaddrinfo(host: str, *rest: object, **named: object) -> object:
        if host.startswith("slow"):
            may_end.wait(PATIENCE_SECONDS)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return real(host, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield may_end
    may_end.set()


async def ended(tasks: list[asyncio.Task[list[str]]]) -> None:
    for task in tasks:
        with suppress(OSError):
            await task


async def test_slow_names_leave_the_threads_of_other_work_alone(slow_names: threading.Event) -> None:
    tasks = [asyncio.create_task(system_resolver(f"slow-{number}.test")) for number in range(NAMES)]
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE_SECONDS / 2):
        assert await asyncio.to_thread(lambda: "done") == "done"
    slow_names.set()
    await ended(tasks)


async def test_slow_names_of_one_sandbox_leave_room_for_those_of_others(slow_names: threading.Event) -> None:
    resolver, greedy = FairResolver(system_resolver), uuid4()
    tasks = [asyncio.create_task(resolver.resolve(greedy, f"slow-{number}.test")) for number in range(NAMES)]
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE_SECONDS / 2):
        assert await resolver.resolve(uuid4(), "127.0.0.1") == ["127.0.0.1"]
    slow_names.set()
    await ended(tasks)


async def test_a_look_up_counts_for_as_long_as_it_takes() -> None:
    begun: list[str] = []
    may_end = asyncio.Event()

    async def resolve(name: str) -> list[str]:
        begun.append(name)
        await may_end.wait()
        return [name]

    resolver, greedy = FairResolver(resolve, at_once=2), uuid4()

    async def impatient(asker: UUID, name: str) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(resolver.resolve(asker, name), 0.01)

    for name in "abcd":
        await impatient(greedy, name)
    assert begun == ["a", "b"]
    await impatient(uuid4(), "e")
    assert begun == ["a", "b", "e"]
    may_end.set()
    assert await resolver.resolve(greedy, "f") == ["f"]
