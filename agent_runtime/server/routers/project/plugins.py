"""Routes that list plugins, fetch plugins and add plugins to conversations. A plugin consists of skills,
hooks, sub-agents and MCP servers. A plugin is used only if a client names it.
"""

import asyncio
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from pydantic import ValidationError

from agent_runtime.conversation.add_plugin import add_plugin
from agent_runtime.plugins.plugin import Plugin
from agent_runtime.plugins.store import PluginStore
from agent_runtime.server.errors import ServerProblem, invalid
from agent_runtime.server.routers.dependencies import LoadedConversation
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import (
    FetchedPlugin,
    FetchPluginRequest,
    LoadPluginRequest,
    PluginInfo,
    PluginSkill,
    PluginsRequest,
    PluginsResponse,
    Success,
)

router = Router(prefix="/api", tags=["plugins"])


async def get_plugin_store(request: Request) -> PluginStore:
    store: PluginStore = request.app.state.plugins
    return store


Plugins = Annotated[PluginStore, Depends(get_plugin_store)]


@router.post("/plugins")
async def local(wanted: PluginsRequest, store: Plugins) -> PluginsResponse:
    """Returns the plugins in the plugin directories of the project and of the user."""
    project = Path(wanted.project_dir) if wanted.project_dir else None
    if project is not None and not project.is_absolute():
        raise ServerProblem(422, "validation_failed", "project_dir must be an absolute path.")
    found = await asyncio.to_thread(store.local, project, with_user=wanted.load_user)
    return PluginsResponse(plugins=[_info(one) for one in found])


@router.post(
    "/plugins/fetch",
    responses={
        422: {"description": "It is not a plugin"},
        504: {"description": "Its repository did not answer"},
    },
)
async def fetch(wanted: FetchPluginRequest, store: Plugins) -> FetchedPlugin:
    """Fetches a plugin from a git repository, stores it and returns its description. The source may also be a
    directory on the server's machine. The plugin is not added to a conversation.
    """
    fetched = await store.fetch(wanted, wanted.timeout)
    plugin = await store.load(fetched)
    return FetchedPlugin(
        path=str(fetched.path),
        resolved_ref=fetched.commit,
        source=wanted.source,
        repo_path=wanted.repo_path,
        manifest=plugin.manifest.model_dump(mode="json"),
        skills=[skill.name for skill in plugin.skills if skill.name not in plugin.commands],
        commands=plugin.commands,
        left_out=list(plugin.left_out),
    )


@router.post("/conversations/{conversation_id}/load_plugin")
async def load(conversation: LoadedConversation, wanted: LoadPluginRequest, store: Plugins) -> Success:
    """Adds a plugin to a conversation: the plugin's skills, commands, sub-agents, MCP servers and hooks."""
    plugin = await store.find(wanted.plugin_ref, conversation.spec.working_dir)
    try:
        add_plugin(conversation, plugin)
    except ValidationError as error:
        raise invalid(error, "plugin", is_body=False) from error
    return Success()


def _info(plugin: Plugin) -> PluginInfo:
    return PluginInfo(
        name=plugin.name,
        version=plugin.manifest.version,
        description=plugin.manifest.description,
        path=str(plugin.path),
        skills=[PluginSkill(name=skill.name, description=skill.description) for skill in plugin.skills],
        files=plugin.files(),
        left_out=list(plugin.left_out),
    )
