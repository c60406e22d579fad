"""Routes that report whether the server runs, and the version and state of the server. These routes need no
session key (the key that clients must send to other routes).
"""

import os
import platform
import time

from fastapi import Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from agent_runtime.server.bash.service import BashService
from agent_runtime.server.routers.router import Router
from agent_runtime.server.startup.initialization import Initialization
from agent_runtime.tools.registry import usable_tool_names
from agent_runtime.version import VERSION

router = Router(tags=["server"])

CAPABILITIES = ("idempotent_conversation_create_v1", "tool_catalog_v1", "skill_catalog_v1", "run_queue_v1")


class ServerInfo(BaseModel):
    """The reply of GET /server_info: version, state and abilities of the agent server.

    `uptime`: the seconds since the start of the server. `idle_time`: 0 while an agent works or a
    command of a client runs. Otherwise the seconds since the last event of any conversation, or since the end
    of the last command if that was later. `active_runs`: the number of agents that work now.
    `queued_runs`: the number of agents that wait because the maximum number of agents already works.
    """

    uptime: float
    idle_time: float
    title: str
    version: str
    sdk_version: str
    tools_version: str
    workspace_version: str
    build_git_sha: str
    build_git_ref: str
    python_version: str
    usable_tools: list[str]
    runtime_idle_timeout_seconds: float | None = None
    conversation_runtime: str = "local"
    available_conversation_runtimes: list[str] = ["local"]
    capabilities: list[str] = list(CAPABILITIES)
    app_backend_ingress_url: str | None = None
    max_foreground_terminal_timeout_seconds: float | None = None
    active_runs: int
    queued_runs: int
    docs: str = "/docs"
    redoc: str = "/redoc"


@router.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


@router.get("/alive")
async def alive() -> dict[str, str]:
    return {"status": "ok"}


@router.get("/ready", responses={503: {"description": "It is not initialized yet"}})
async def ready(request: Request) -> JSONResponse:
    initialization: Initialization | None = request.app.state.initialization
    is_ready = initialization is None or initialization.state == "ready"
    return JSONResponse(
        {"status": "ready" if is_ready else "initializing"}, status_code=200 if is_ready else 503
    )


@router.get("/")
@router.get("/server_info")
async def server_info(request: Request) -> ServerInfo:
    state, now = request.app.state, time.monotonic()
    registry = getattr(state, "registry", None)
    active, queued = (registry.slots.active, registry.slots.waiting) if registry else (0, 0)
    bash: BashService | None = getattr(state, "bash_service", None)
    is_commanded, last_end = (bash.is_running, bash.last_end) if bash else (False, None)
    last_activity = max(registry.last_activity if registry else state.started_at, last_end or 0.0)
    return ServerInfo(
        uptime=now - state.started_at,
        idle_time=0.0 if active or is_commanded else now - last_activity,
        title=request.app.title,
        version=VERSION,
        sdk_version=VERSION,
        tools_version=VERSION,
        workspace_version=VERSION,
        build_git_sha=os.environ.get("OPENHANDS_BUILD_GIT_SHA", "unknown"),
        build_git_ref=os.environ.get("OPENHANDS_BUILD_GIT_REF", "unknown"),
        python_version=platform.python_version(),
        usable_tools=usable_tool_names(),
        active_runs=active,
        queued_runs=queued,
    )
