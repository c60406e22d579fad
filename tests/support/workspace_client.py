"""Runs an app that has only the workspace routes of the agent server, for tests of these routes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from fastapi import FastAPI

from agent_runtime.server.bash.service import BashService
from agent_runtime.server.config import Config
from agent_runtime.server.errors import install_error_handlers
from agent_runtime.server.outgoing.git_remotes import RemotesFile
from agent_runtime.server.roots import get_file_roots
from agent_runtime.server.routers.workspace import bash, file, git
from tests.support.patience import PATIENCE_SECONDS


@asynccontextmanager
async def workspace_client(root: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Yields a client of an app whose file routes may access only files below `root`."""
    app = FastAPI()
    app.state.config = Config(conversations_path=root.parent / "conversations")
    app.state.git_remotes = RemotesFile(root.parent / "conversations", "http://127.0.0.1:9/word")
    install_error_handlers(app)
    for module in (bash, file, git):
        app.include_router(module.router)
    # Not the default roots: they include the temporary directory, in which the tests run.
    app.dependency_overrides[get_file_roots] = lambda: [root]
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        BashService(root) as app.state.bash_service,
        httpx.AsyncClient(
            transport=transport, base_url="http://agent-server", timeout=PATIENCE_SECONDS
        ) as client,
    ):
        yield client
