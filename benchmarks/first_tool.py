"""Measures the time from the request for a conversation until the first tool has run in the conversation,
through the public API.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from uuid import uuid4

from app_server.core.config import Config
from app_server.headless.client import Client
from app_server.headless.run import owner_client
from app_server.headless.server_process import server_of
from benchmarks.script import Script, ScriptedModel

POLL_SECONDS = 0.05
POOL_PATIENCE_SECONDS = 120
POOL_STAYS_EMPTY = f"No member of the pool was ready in {POOL_PATIENCE_SECONDS} s: ask `slipway doctor` why."


def seconds_to_first_tool(
    home: Path, kind: Literal["docker", "process"], *, pool: int, runs: int
) -> list[float]:
    """Measures how many seconds pass from the request for a conversation until its first tool has run.
    Returns one value for each run. A first run, which fills the page cache, is not in the result. `pool`: the
    number of sandboxes that the server prepares in advance.
    """
    taken = []
    with ScriptedModel() as model, _serving(home, kind, pool) as client:
        for number in range(runs + 1):
            if pool and number:  # the first run sees to the image, without which no pool fills
                _wait_for_pool(home, pool)
            taken.append(_measure(client, model.script(steps=1)))
    return taken[1:]


@contextmanager
def _serving(home: Path, kind: str, pool: int) -> Iterator[Client]:
    os.environ["SLIPWAY_SANDBOX_POOL"] = str(pool)  # the server inherits it
    with server_of(home, kind) as url, owner_client(Config(home=home), url) as client:
        yield client


def _measure(client: Client, script: Script) -> float:
    profile = f"bench-{uuid4().hex[:8]}"
    client.save_profile(profile, {"model": "openai/scripted", "base_url": script.base_url, "api_key": "k"})
    message = {"role": "user", "content": [{"type": "text", "text": "Go."}], "run": True}
    began = time.perf_counter()
    # Without a title the model would be asked for one.
    request = {"initial_message": message, "llm_profile": profile, "title": "Benchmark"}
    conversation_id = client.start({**request, "confirmation_mode": "never"})["id"]
    for frame in client.frames(conversation_id):
        if frame["type"] == "durable" and frame["event"]["kind"] == "ObservationEvent":
            break
    taken = time.perf_counter() - began
    client.delete(conversation_id)
    return taken


def _wait_for_pool(home: Path, size: int) -> None:
    deadline = time.monotonic() + POOL_PATIENCE_SECONDS
    while len(halted_members(home)) < size:
        if time.monotonic() > deadline:
            raise SystemExit(POOL_STAYS_EMPTY)
        time.sleep(POLL_SECONDS)


def halted_members(home: Path) -> list[str]:
    """Returns the ids of the paused containers in the sandbox pool of the server whose home directory is
    `home`. These containers are ready to be used.
    """
    owner = home / "pool" / "owner"
    if not owner.exists():
        return []
    filters = ["--filter", f"label=slipway.pool={owner.read_text()}", "--filter", "status=paused"]
    listed = subprocess.run(["docker", "ps", "-q", *filters], check=True, capture_output=True, text=True)
    return listed.stdout.split()
