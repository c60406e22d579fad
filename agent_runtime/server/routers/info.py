"""Whether the server is there, and what it is. No key needed."""

import platform
import time
from importlib import metadata
from typing import Any

from fastapi import APIRouter, Request

from agent_runtime.tools.registry import tool_names

router = APIRouter(tags=["server"])


@router.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


@router.get("/alive")
async def alive() -> dict[str, str]:
    return {"status": "ok"}


@router.get("/ready")
async def ready() -> dict[str, str]:
    return {"status": "ready"}


@router.get("/server_info")
async def server_info(request: Request) -> dict[str, Any]:
    version = _version()
    return {
        "uptime": time.monotonic() - request.app.state.started_at,
        "version": version,
        "sdk_version": version,
        "tools_version": version,
        "workspace_version": version,
        "python_version": platform.python_version(),
        "usable_tools": tool_names(),
        "conversation_runtime": "local",
        "available_conversation_runtimes": ["local"],
        "capabilities": ["idempotent_conversation_create_v1"],
    }


def _version() -> str:
    try:
        return metadata.version("slipway")
    except metadata.PackageNotFoundError:
        return "0"
