"""Measures how long people wait for sandboxes, as p50 and p95 of several runs. A first run, in which the
sandbox image is prepared, is left out.

    .venv/bin/python -m benchmarks.sandboxes [docker|process] [RUNS]

The first part calls the app server's sandbox service directly. It measures the time from the request until
the agent server answers, for four kinds of sandboxes: new, from the pool, halted and ended. A halted sandbox
is a paused container, and an ended sandbox is a stopped container. With `process`, both are stopped
processes. The first part also measures how long it takes to halt a sandbox.

The second part starts an app server, requests conversations, and measures the time until their first tool has
run.
"""

import asyncio
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Literal
from uuid import UUID, uuid4

import docker

from app_server.core.config import Config
from app_server.core.database import Base, Database
from app_server.core.encryption import load_cipher
from app_server.headless.server_process import free_ports
from app_server.sandboxes.service import Sandboxes
from app_server.users.models import Role, User
from benchmarks.figures import quantile
from benchmarks.first_tool import (
    POOL_PATIENCE_SECONDS,
    POOL_STAYS_EMPTY,
    halted_members,
    seconds_to_first_tool,
)

Kind = Literal["docker", "process"]

POLL_SECONDS = 0.05


def main() -> None:
    kind: Kind = "process" if "process" in sys.argv else "docker"
    runs = next((int(word) for word in sys.argv[1:] if word.isdigit()), 20)
    with tempfile.TemporaryDirectory(prefix="slipway-bench-") as directory:
        home = Path(directory)
        for name in ("service", "pooled"):
            (home / name).mkdir()
        taken = asyncio.run(_measure(home / "service", kind, runs))
        taken["request → first tool"] = seconds_to_first_tool(home / "served", kind, pool=0, runs=runs)
        if kind == "docker":
            taken |= asyncio.run(_measure_pool(home / "pooled", runs))
            pooled = seconds_to_first_tool(home / "pooled and served", kind, pool=1, runs=runs)
            taken["request → first tool, from the pool"] = pooled
    for name, seconds in taken.items():
        middle, slow = quantile(seconds, 0.5), quantile(seconds, 0.95)
        print(f"{kind}: {name}: p50 {middle:.3f} s, p95 {slow:.3f} s ({runs} runs)")


async def _measure(home: Path, kind: Kind, runs: int) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = defaultdict(list)
    async with _service(home, kind) as (sandboxes, database, user_id):
        for number in range(runs + 1):
            this_run: dict[str, float] = {}
            sandbox_id = uuid4()
            async with database.session() as session:
                await sandboxes.create(session, sandbox_id=sandbox_id, user_id=user_id)
            this_run["request → healthy"] = await _seconds(sandboxes.bring_up(sandbox_id, _ignore))
            this_run["halt"] = await _seconds(sandboxes.pause(sandbox_id))
            this_run["halted → healthy"] = await _seconds(sandboxes.wake(sandbox_id))
            await sandboxes.pause(sandbox_id)
            await sandboxes.rest()  # it ends at once: see the configuration
            this_run["ended → healthy"] = await _seconds(sandboxes.wake(sandbox_id))
            await sandboxes.delete(sandbox_id)
            if number:  # the first one fills the page cache
                for name, seconds in this_run.items():
                    taken[name].append(seconds)
    return taken


async def _measure_pool(home: Path, runs: int) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = defaultdict(list)
    held: list[float] = []
    async with _service(home, "docker", pool=1) as (sandboxes, database, user_id):
        for number in range(runs + 1):
            if number:  # the first one sees to the image, without which no pool fills
                held.append(await asyncio.to_thread(_megabytes, await _halted_member(home, sandboxes)))
            sandbox_id = uuid4()
            async with database.session() as session:
                await sandboxes.create(session, sandbox_id=sandbox_id, user_id=user_id)
            seconds = await _seconds(sandboxes.bring_up(sandbox_id, _ignore if number else print))
            await sandboxes.delete(sandbox_id)
            if number:
                taken["request → healthy, from the pool"].append(seconds)
    middle, most = quantile(held, 0.5), max(held)
    print(f"docker: a halted member of the pool: p50 {middle:.1f} MB, at most {most:.1f} MB ({runs} runs)")
    return taken


async def _halted_member(home: Path, sandboxes: Sandboxes) -> str:
    try:
        async with asyncio.timeout(POOL_PATIENCE_SECONDS):
            while not (members := await asyncio.to_thread(halted_members, home)):
                await sandboxes.check()
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError as error:
        raise SystemExit(POOL_STAYS_EMPTY) from error
    return members[0]


def _megabytes(container_id: str) -> float:
    """Returns the memory of a container in megabytes, as `docker stats` shows it. Cached files that are not
    in use do not count.
    """
    with closing(docker.from_env(version="auto")) as engine:
        memory = engine.containers.get(container_id).stats(stream=False, one_shot=True)["memory_stats"]
    unused = memory["stats"].get("total_inactive_file", memory["stats"].get("inactive_file", 0))
    return float((memory["usage"] - unused) / 1e6)


@asynccontextmanager
async def _service(home: Path, kind: Kind, pool: int = 0) -> AsyncIterator[tuple[Sandboxes, Database, UUID]]:
    config = Config(
        home=home, sandbox=kind, inner_port=free_ports(1)[0], sandbox_frozen_minutes=0, sandbox_pool=pool
    )
    database = Database(config.resolved_database_url)
    async with database.engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    user = User(id=uuid4(), name="Benchmark", role=Role.OWNER)
    async with database.session() as session:
        session.add(user)
    sandboxes = Sandboxes(config, database, load_cipher(config))
    await sandboxes.open()
    try:
        yield sandboxes, database, user.id
    finally:
        await sandboxes.close()
        await database.close()


async def _seconds(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


def _ignore(_: str) -> None:
    """Does nothing. It gets each line of text about the progress of a sandbox's start."""


if __name__ == "__main__":
    main()
