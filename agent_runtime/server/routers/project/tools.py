"""Routes that list the tools which this server can provide to an agent."""

import asyncio
import logging
from pathlib import Path
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request

from agent_runtime.server.routers.router import Router
from agent_runtime.tools.registry import BUILT_IN, ToolNotFoundError, ToolSpec, create_tools, tool_names
from agent_runtime.tools.tool import ToolContext
from agent_runtime.wire import ToolCatalogEntry, ToolCatalogResponse

router = Router(prefix="/api/tools", tags=["tools"])
logger = logging.getLogger(__name__)

DEFAULT_SET = ("terminal", "file_editor", "task_tracker", "browser_tool_set")


async def _context(request: Request) -> ToolContext:
    workspace: Path = request.app.state.config.workspace_path
    # No conversation has this id. The tools are only listed and never run.
    delegation = request.app.state.children.delegation_of(UUID(int=0))
    return ToolContext(working_dir=workspace, state_dir=workspace, delegation=delegation)


@router.get("/")
async def names() -> list[str]:
    return tool_names()


@router.get("/catalog")
async def catalog(context: Annotated[ToolContext, Depends(_context)]) -> ToolCatalogResponse:
    # Importing custom tools may take long, so it happens in a thread.
    entries = await asyncio.to_thread(lambda: [_entry(name, context) for name in tool_names()])
    return ToolCatalogResponse(tools=entries)


def _entry(name: str, context: ToolContext) -> ToolCatalogEntry:
    entry = ToolCatalogEntry(
        name=name, user_selectable=name not in BUILT_IN, in_default_set=name in DEFAULT_SET
    )
    try:
        tools = create_tools([ToolSpec(name=name)], context)
    except ToolNotFoundError as error:
        return entry.model_copy(update={"usable": False, "description": str(error)})
    return entry.model_copy(update={"description": next(iter(tools.values())).description})
