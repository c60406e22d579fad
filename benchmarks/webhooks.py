"""Measures how fast the app server answers a webhook delivery of a git host: one delivery at a time, and many
at the same time.

    .venv/bin/python -m benchmarks.webhooks [DELIVERIES]

Each delivery is new and signed. The server verifies it, stores it, and adds a background job for it. The jobs
run at the same time. The goal is a p99 of 50 ms if one delivery is sent at a time.
"""

import asyncio
import hashlib
import hmac
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import orjson

from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import load_cipher
from app_server.git.providers import GitProvider
from app_server.headless.server_process import free_ports
from app_server.triggers.models import Trigger, TriggerEvent
from app_server.users.models import Role
from app_server.users.service import create_user
from benchmarks import process
from benchmarks.app_process import running

GOAL_MS = 50
_SECRET = "benchmark"  # noqa: S105 (of a server that lives for a minute)
_REPOSITORY = "octo/app"
_WARM_UP = 20


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    asyncio.run(_measure(count))


async def _measure(count: int) -> None:
    port, inner_port = free_ports(2)
    with tempfile.TemporaryDirectory(prefix="slipway-bench-") as directory:
        config = Config(home=Path(directory) / "home", sandbox="process", port=port, inner_port=inner_port)
        async with running(config) as pid, httpx.AsyncClient(timeout=60) as client:
            url = f"http://127.0.0.1:{port}/api/v1/git-webhooks/{(await _trigger(config)).hex}"
            await _send(client, url, _WARM_UP, at_once=1, size=0)
            for words, at_once, size in (
                ("one at a time", 1, 0),
                ("one at a time, of 1 MiB", 1, 1024**2),
                ("20 at a time", 20, 0),
            ):
                before = process.cpu_seconds([pid])
                times = await _send(client, url, count, at_once=at_once, size=size)
                spent = (process.cpu_seconds([pid]) - before) * 1000 / count
                print(f"{words}: {_spread(times)}, {spent:.1f} ms of processor time each")
    print(f"goal: a p99 of {GOAL_MS} ms, one at a time")


async def _trigger(config: Config) -> UUID:
    """Stores a trigger and returns its id. The trigger's user has no token for the git host, so the
    background jobs end without a call to a git host.
    """
    database = Database(config.resolved_database_url)
    cipher = load_cipher(config)
    try:
        async with database.session() as session:
            user = await create_user(session, name="Bench", role=Role.MEMBER)
            trigger = Trigger(
                id=uuid4(),
                user_id=user.id,
                provider=GitProvider.GITHUB,
                origin="https://github.com",
                repository=_REPOSITORY,
                clone_url=f"https://github.com/{_REPOSITORY}",
                events=list(TriggerEvent),
                secret_encrypted=cipher.encrypt(_SECRET),
            )
            session.add(trigger)
            return trigger.id
    finally:
        await database.close()


async def _send(client: httpx.AsyncClient, url: str, count: int, *, at_once: int, size: int) -> list[float]:
    """Sends `count` deliveries and returns how many milliseconds each took, shortest first. `at_once`: how
    many deliveries are sent at the same time. `size`: the number of characters of the issue text in each
    delivery.
    """
    left, times = [_delivery(size) for _ in range(count)], []

    async def sender() -> None:
        while left:
            content, headers = left.pop()
            began = time.perf_counter()
            reply = await client.post(url, content=content, headers=headers)
            times.append((time.perf_counter() - began) * 1000)
            assert reply.status_code == 202, reply.text

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(sender())
    return sorted(times)


def _delivery(size: int) -> tuple[bytes, dict[str, str]]:
    content = orjson.dumps(
        {
            "action": "labeled",
            "repository": {"full_name": _REPOSITORY},
            "sender": {"login": "grace", "id": 1},
            "issue": {"number": 4, "html_url": "https://github.com/octo/app/issues/4", "body": "x" * size},
            "label": {"name": "slipway"},
        }
    )
    digest = hmac.new(_SECRET.encode(), content, hashlib.sha256).hexdigest()
    return content, {
        "content-type": "application/json",
        "x-github-event": "issues",
        "x-github-delivery": str(uuid4()),
        "x-hub-signature-256": f"sha256={digest}",
    }


def _spread(times: Sequence[float]) -> str:
    p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, slowest {times[-1]:.1f} ms"


if __name__ == "__main__":
    main()
