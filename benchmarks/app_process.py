"""Runs an app server in a separate process."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx

from app_server.core.config import Config

START_SECONDS = 60.0


@asynccontextmanager
async def running(
    config: Config, module: str = "app_server", environment: Mapping[str, str] | None = None
) -> AsyncIterator[int]:
    """Starts an app server, waits until it answers, and yields its process id. Ends the server when the
    `async with` block ends. `module`: the Python module that is run. `environment`: environment variables
    that the server gets in addition to the variables of this process.
    """
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, "serve", "--home", str(config.home), "--sandbox", "process"),
        *("--port", str(config.port), "--inner-port", str(config.inner_port)),
        env={**os.environ, **(environment or {})},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(START_SECONDS), httpx.AsyncClient() as client:
            while not await _answers(client, config.inner_port):  # noqa: ASYNC110 (there is no event for it)
                await asyncio.sleep(0.02)
        yield server.pid
    finally:
        server.terminate()
        await server.wait()


async def _answers(client: httpx.AsyncClient, port: int) -> bool:
    try:
        return (await client.get(f"http://127.0.0.1:{port}/health")).is_success
    except httpx.TransportError:
        return False
