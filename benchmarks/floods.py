"""Measures how long the requests of another user take while a flood of requests hits the app server, and how
much memory the server uses for the flood.

    .venv/bin/python -m benchmarks.floods [SECONDS]

The server, the attacker and the other user are in three processes. Each flood ends after SECONDS (10 by
default). On a busy machine, compare the results with the first line, which is measured without a flood.
"""

import asyncio
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx

from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.start.tasks import new_stages
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import load_cipher
from app_server.headless.server_process import free_ports
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.settings.profiles import save_profile
from app_server.settings.schemas import LLMSettings
from app_server.users.models import Role
from app_server.users.service import create_api_key, create_user
from app_server.users.tokens import new_token, token_hash
from benchmarks import process, slow_names
from benchmarks.app_process import running
from benchmarks.attackers import FLOODS, Target, attack

_PAUSE_SECONDS = 0.005
_REQUEST = "/api/v1/app-conversations/search"


@dataclass(frozen=True)
class Row:
    """The result for one flood. `requests`: how many requests of the other user were measured. `p50`, `p99`,
    `longest`: how long these requests took, in milliseconds. `growth`: the largest growth of the server's
    memory, in MiB.
    """

    flood: str
    requests: int
    p50: float
    p99: float
    longest: float
    growth: float


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    print(f"{'flood':<44}{'requests':>9}{'p50 ms':>9}{'p99 ms':>9}{'max ms':>9}{'MiB more':>10}")
    for row in asyncio.run(measure(seconds)):
        cells = f"{row.requests:>9}{row.p50:>9.1f}{row.p99:>9.1f}{row.longest:>9.1f}{row.growth:>10.1f}"
        print(f"{row.flood:<44}{cells}")


async def measure(seconds: float, floods: Sequence[str] = tuple(FLOODS)) -> list[Row]:
    """Measures the server without a flood and then during each flood, for `seconds` seconds each. Returns one
    row for each measurement; the first row is without a flood. `floods`: the names of the floods.
    """
    port, inner_port = free_ports(2)
    with tempfile.TemporaryDirectory(prefix="slipway-bench-") as directory:
        config = Config(home=Path(directory) / "home", sandbox="process", port=port, inner_port=inner_port)
        allowed = {"SLIPWAY_EGRESS_HOSTS": f'["*.{slow_names.ZONE}"]'}
        async with running(config, "benchmarks.slow_names", allowed) as pid:
            api_key, target = await _set_up(config)
            url, headers = f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {api_key}"}
            async with httpx.AsyncClient(base_url=url, headers=headers, timeout=120) as other:
                await _ask(other, pid, "warm-up", 1.0)
                rows = [await _ask(other, pid, "none", seconds)]
                rows += [await _flooded(other, pid, name, seconds, target) for name in floods]
    return rows


async def _flooded(other: httpx.AsyncClient, pid: int, name: str, seconds: float, target: Target) -> Row:
    spawn = multiprocessing.get_context("spawn")
    begun = spawn.Event()
    attacker = spawn.Process(target=attack, args=(name, target, seconds, begun), daemon=True)
    attacker.start()
    try:
        await asyncio.to_thread(begun.wait, 60)
        return await _ask(other, pid, name, seconds)
    finally:
        await asyncio.to_thread(attacker.join, 60)
        attacker.kill()


async def _ask(other: httpx.AsyncClient, pid: int, name: str, seconds: float) -> Row:
    before = process.resident_mib(pid)
    waits, most = list[float](), before
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        began = time.perf_counter()
        (await other.get(_REQUEST)).raise_for_status()
        waits.append(1000 * (time.perf_counter() - began))
        most = max(most, process.resident_mib(pid))
        await asyncio.sleep(_PAUSE_SECONDS)
    p99 = statistics.quantiles(waits, n=100, method="inclusive")[-1] if len(waits) > 1 else waits[0]
    return Row(name, len(waits), statistics.median(waits), p99, max(waits), most - before)


async def _set_up(config: Config) -> tuple[str, Target]:
    """Creates two users: the other user, whose requests are measured, and the attacker. Returns the other
    user's API key, and the data that the attacker uses. The attacker's sandbox is only a database row; no
    agent server runs in it.
    """
    database, cipher, session_key = Database(config.resolved_database_url), load_cipher(config), new_token()
    llm = {"model": "openai/bench", "base_url": "http://127.0.0.1:9/v1", "api_key": "k"}
    (silent_port,) = free_ports(1)
    silent = {**llm, "base_url": f"http://127.0.0.1:{silent_port}/v1"}
    async with database.session() as session:
        quiet = await create_user(session, name="Quiet", role=Role.ADMIN)
        loud = await create_user(session, name="Loud", role=Role.ADMIN)
        await save_profile(session, cipher, loud.id, "bench", LLMSettings.model_validate(llm))
        await save_profile(session, cipher, loud.id, "silent", LLMSettings.model_validate(silent))
        conversation = Conversation(
            id=uuid4(),
            user_id=loud.id,
            llm_profile="bench",
            last_seq=0,
            selected_repository="https://git.example/a/b",
        )
        session.add(conversation)
        ids = {"id": conversation.id, "user_id": loud.id}
        session.add(StartTask(**ids, status=StartStatus.READY, request={}, stages=new_stages()))
        session.add(
            Sandbox(
                id=conversation.id,
                user_id=loud.id,
                status=SandboxStatus.PAUSED,
                session_key_hash=token_hash(session_key),
                encrypted_session_key=cipher.encrypt(session_key),
                spec_id="process",
            )
        )
        keys = [(await create_api_key(session, user, name="bench"))[1] for user in (quiet, loud)]
    await database.close()
    target = Target(config.port, config.inner_port, silent_port, session_key, keys[1], conversation.id.hex)
    return keys[0], target


if __name__ == "__main__":
    main()
