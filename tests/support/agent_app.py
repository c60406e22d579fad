"""Runs the agent server inside the test's own process and event loop, which is fast. The server is real, but
HTTP calls reach it without a network.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import APIRouter, FastAPI

from agent_runtime.server.config import Config
from agent_runtime.server.startup.application import application_for
from tests.support.agent_server import KEY
from tests.support.patience import PATIENCE_SECONDS, pauses_between_looks


@asynccontextmanager
async def agent_app(path: Path, **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Yields an HTTP client of an agent server that stores its files below `path`. Each call carries the
    session key.
    """
    given = {
        "conversations_path": path / "conversations",
        "workspace_path": path / "project",
        "persistence_dir": path / "persisted",
        "session_keys": (KEY,),
        **settings,
    }
    config = Config.model_validate(given)
    app = application_for(config)
    if not config.deferred_init:
        _share_routes(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://agent",
            headers={"X-Session-API-Key": KEY},
            timeout=PATIENCE_SECONDS,
        ) as client,
    ):
        yield client


def _share_routes(app: FastAPI) -> None:
    """Makes the app use the table of routes of the first app of this process.

    FastAPI prepares a route at the first request for it, which took a tenth of the time of these tests. The
    routes do not depend on the configuration.
    """
    app.router = _ROUTES.setdefault("all", app.router)


_ROUTES: dict[str, APIRouter] = {}


async def called(client: httpx.AsyncClient, method: str, path: str, **options: Any) -> Any:
    """Sends a request and returns the decoded JSON of the reply. Fails the test if the status is not 2xx."""
    reply = await client.request(method, path, **options)
    assert reply.is_success, reply.text
    return reply.json()


async def eventually(value: Callable[[], Any]) -> Any:
    """Calls `value` again and again until its result is true, and returns that result."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if found := value():
                return found
            await asyncio.sleep(0.01)


async def wait_for_status(client: httpx.AsyncClient, conversation_id: str, wanted: str) -> None:
    """Returns when the conversation reports the execution status `wanted` over HTTP."""
    path = f"/api/conversations/{conversation_id}"
    async with asyncio.timeout(PATIENCE_SECONDS):
        pauses = pauses_between_looks()
        while (await called(client, "GET", path))["execution_status"] != wanted:  # noqa: ASYNC110 (over HTTP)
            await asyncio.sleep(next(pauses))
