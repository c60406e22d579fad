"""The agent server as an application."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI

from agent_runtime.llm.complete import LLMClient
from agent_runtime.server.auth import require_key
from agent_runtime.server.bash_service import BashService
from agent_runtime.server.config import Config
from agent_runtime.server.errors import install_error_handlers
from agent_runtime.server.registry import Registry
from agent_runtime.server.report import Reporter
from agent_runtime.server.routers import (
    bash,
    conversations,
    events,
    file,
    git,
    info,
    skills,
    sockets,
    steering,
)


def create_app(config: Config) -> FastAPI:
    """The agent server. Everything below /api needs a session key, if there is one."""
    app = FastAPI(title="Slipway agent server", lifespan=_lifespan)
    app.state.config = config
    install_error_handlers(app)
    app.include_router(info.router)
    app.include_router(sockets.router)
    app.state.file_roots = [config.workspace_path, config.conversations_path]
    for module in (conversations, steering, skills, events, bash, file, git):
        app.include_router(module.router, dependencies=[Depends(require_key)])
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    config: Config = app.state.config
    app.state.started_at = time.monotonic()
    config.workspace_path.mkdir(parents=True, exist_ok=True)
    client = LLMClient(credential_for=config.credential_for)
    reporter = Reporter(config)
    registry = Registry(config, client, reporter)
    app.state.registry = registry
    registry.resume()
    try:
        async with BashService(config.workspace_path) as app.state.bash_service:
            yield
    finally:
        await reporter.close()
        await registry.close()
        await client.close()
