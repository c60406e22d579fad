"""Routes that list and start the runtime plugins of a sandbox, such as VS Code or the desktop."""

from uuid import UUID

from fastapi import APIRouter, Request

from agent_runtime.wire import RuntimePluginList
from app_server.access.authentication import CurrentUser
from app_server.core.database import ServerDatabase
from app_server.core.server_objects import ServerConfig
from app_server.sandboxes.runtime_plugins import list_runtime_plugins, start_runtime_plugin
from app_server.sandboxes.schemas import RuntimePluginStarted
from app_server.sandboxes.service import ServerSandboxes
from app_server.sandboxes.users_sandboxes import find_own

router = APIRouter(prefix="/api/v1/sandboxes/{sandbox_id}/runtime-plugins", tags=["sandboxes"])


@router.get("")
async def get_runtime_plugins(
    user: CurrentUser,
    sandbox_id: UUID,
    sandboxes: ServerSandboxes,
    config: ServerConfig,
    database: ServerDatabase,
    request: Request,
) -> RuntimePluginList:
    """Returns the runtime plugins of a sandbox (VS Code, the desktop, the browser and Jupyter), each with its
    availability and state.

    For a sandbox that does not run, returns the plugins that were found when it last ran. If it has never
    run, returns the plugins that its image contains. The list is empty if the plugins of the image are not
    known.
    """
    sandbox = await find_own(request, user, sandbox_id)
    return RuntimePluginList(items=await list_runtime_plugins(sandboxes, sandbox, config, database))


@router.post("/{name}/start")
async def post_runtime_plugin_start(
    user: CurrentUser,
    sandbox_id: UUID,
    name: str,
    request: Request,
    conversation_id: UUID | None = None,
) -> RuntimePluginStarted:
    """Starts a runtime plugin of a sandbox, and replies as soon as the plugin runs. Starts the sandbox first
    if it sleeps. Can also be used to restart a plugin that has crashed.

    To open the plugin, the client creates a link to the plugin's port (`POST …/links`), and passes the `path`
    of this reply in that request. `conversation_id`: VS Code shows the directory of this conversation. By
    default, VS Code shows the directory of the conversation for which the sandbox was created.
    """
    sandbox = await find_own(request, user, sandbox_id)
    state = request.state
    async with state.database.read() as session:
        folder = await state.folder_of(session, sandbox, conversation_id or sandbox_id)
    return await start_runtime_plugin(state.sandboxes, sandbox, name, state.config, folder)
