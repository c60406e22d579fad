"""What runs beside the agent server of a sandbox: which there are, and starting one."""

from uuid import UUID

from fastapi import APIRouter, Request

from agent_runtime.wire import RuntimePluginList
from app_server.access.authentication import CurrentUser
from app_server.sandboxes.own import find_own
from app_server.sandboxes.runtime_plugins import list_runtime_plugins, start_runtime_plugin
from app_server.sandboxes.schemas import RuntimePluginStarted

router = APIRouter(prefix="/api/v1/sandboxes/{sandbox_id}/runtime-plugins", tags=["sandboxes"])


@router.get("")
async def get_runtime_plugins(user: CurrentUser, sandbox_id: UUID, request: Request) -> RuntimePluginList:
    """VS Code, the desktop, the browser and Jupyter: whether each is there, and how it stands.

    A sandbox that sleeps, starts or lies in an archive has those that were found there before, or those that
    its image has. The list is empty where neither is known: before it runs for the first time.
    """
    sandbox = await find_own(request, user, sandbox_id)
    state = request.state
    return RuntimePluginList(
        items=await list_runtime_plugins(state.sandboxes, sandbox, state.config, state.database)
    )


@router.post("/{name}/start")
async def post_runtime_plugin_start(
    user: CurrentUser,
    sandbox_id: UUID,
    name: str,
    request: Request,
    conversation_id: UUID | None = None,
) -> RuntimePluginStarted:
    """Answers once it runs, and wakes the sandbox for it. One that has died is started again.

    A link to its port (`POST …/links`) opens it, at `path`: VS Code in the directory of `conversation_id`,
    without it in that of the conversation the sandbox was made for.
    """
    sandbox = await find_own(request, user, sandbox_id)
    state = request.state
    async with state.database.read() as session:
        folder = await state.folder_of(session, sandbox, conversation_id or sandbox_id)
    return await start_runtime_plugin(state.sandboxes, sandbox, name, state.config, folder)
