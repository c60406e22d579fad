"""Routes that list and start the runtime plugins: VS Code, the desktop and other programs that run beside the
agent server.
"""

from typing import Annotated, Any

from fastapi import Depends, Request

from agent_runtime.server.routers.router import Router
from agent_runtime.server.runtime_plugins.registry import RuntimePlugins
from agent_runtime.wire import RuntimePluginInfo, RuntimePluginList

router = Router(prefix="/api/runtime-plugins", tags=["runtime plugins"])


async def _runtime_plugins(request: Request) -> RuntimePlugins:
    plugins: RuntimePlugins = request.app.state.runtime_plugins
    return plugins


AllRuntimePlugins = Annotated[RuntimePlugins, Depends(_runtime_plugins)]
_REFUSALS: dict[int | str, dict[str, Any]] = {
    404: {"description": "There is none of this name"},
    503: {"description": "It is not here, or it does not start"},
}


@router.get("")
async def list_runtime_plugins(plugins: AllRuntimePlugins) -> RuntimePluginList:
    return RuntimePluginList(items=await plugins.describe())


@router.post("/{name}/start", responses=_REFUSALS)
async def start_runtime_plugin(name: str, plugins: AllRuntimePlugins) -> RuntimePluginInfo:
    """Starts a runtime plugin (a program such as VS Code). The server sends its reply as soon as the program
    answers requests.

    A plugin that already runs is not changed. A plugin whose process has ended is started again.
    """
    return await plugins.start(name)
