"""Builds the FastAPI application of the agent server."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI

from agent_runtime.server.config import Config
from agent_runtime.server.description import TITLE, DescribedApp, root_path
from agent_runtime.server.errors import install_error_handlers
from agent_runtime.server.keys.auth import require_bearer, require_key
from agent_runtime.server.origins import Cors, OpenServerGuard
from agent_runtime.server.ports.listeners import mark_as_ours
from agent_runtime.server.ports.relay import PortConnections, PortRelay
from agent_runtime.server.routers import info, init, profiles, session_key, settings
from agent_runtime.server.routers.conversation import (
    answers,
    catch_up,
    checkpoints,
    confirmation,
    conversations,
    events,
    goal,
    secrets,
    sockets,
    steering,
    switch_profile,
    trajectories,
)
from agent_runtime.server.routers.openai import chat_completions, responses
from agent_runtime.server.routers.project import executables, hooks, mcp, plugins, skills, sub_agents, tools
from agent_runtime.server.routers.workspace import (
    bash,
    bash_socket,
    browse,
    browser,
    file,
    git,
    ports,
    runtime_plugins,
    screens,
    site,
)
from agent_runtime.server.services import Services
from agent_runtime.server.startup.initialization import Initialization
from agent_runtime.server.startup.isolation_watch import end_with_spawner

_KEYED = (
    conversations,
    answers,
    confirmation,
    steering,
    checkpoints,
    secrets,
    goal,
    skills,
    hooks,
    events,
    bash,
    file,
    browse,
    browser,
    catch_up,
    git,
    mcp,
    tools,
    runtime_plugins,
    screens,
    ports,
    executables,
    plugins,
    settings,
    profiles,
    switch_profile,
    trajectories,
    sub_agents,
)


def create_app(config: Config, initialization: Initialization | None = None) -> FastAPI:
    """Returns the FastAPI application of the agent server. All routes below /api require a session key (a key
    that clients must send) if the server has session keys.

    `initialization`: configures a server that waits for POST /api/init; None if the server was configured
    from the start.
    """
    app = DescribedApp(title=TITLE, lifespan=_lifespan, root_path=root_path(config))
    app.state.initialization = initialization
    app.state.services = Services(app, config)
    install_error_handlers(app)
    app.add_middleware(OpenServerGuard, state=app.state)
    app.add_middleware(Cors, state=app.state)
    app.add_middleware(PortRelay, state=app.state)
    app.include_router(info.router)
    app.include_router(init.router)
    app.include_router(session_key.router)
    app.include_router(sockets.router)
    app.include_router(bash_socket.router)
    app.include_router(site.router)
    for module in (chat_completions, responses):
        app.include_router(module.router, dependencies=[Depends(require_bearer)])
    for module in _KEYED:
        app.include_router(module.router, dependencies=[Depends(require_key)])
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.started_at = time.monotonic()
    mark_as_ours(app.state.config.conversations_path)
    services: Services = app.state.services
    await services.start()
    app.state.port_connections = PortConnections()
    stop_watching = end_with_spawner()
    try:
        yield
    finally:
        stop_watching()
        await app.state.port_connections.close()
        await services.close()
