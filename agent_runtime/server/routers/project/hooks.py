"""The route that shows the hooks which the files of a project define. The route runs no hook."""

import asyncio
from pathlib import Path

from fastapi import Request

from agent_runtime.hooks.discover import HooksFileError, discover
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import HooksRequest, HooksResponse

router = Router(prefix="/api/hooks", tags=["hooks"])


@router.post("", responses={422: {"description": "A file with hooks cannot be understood"}})
async def find(wanted: HooksRequest, request: Request) -> HooksResponse:
    """Returns the hooks that the project's files define, in the field `hook_config`; null if there are none.
    A client can send `hook_config` in a request that creates a conversation.
    """
    directory = Path(wanted.project_dir) if wanted.project_dir else request.app.state.config.workspace_path
    if not directory.is_absolute():
        raise ServerProblem(422, "validation_failed", "project_dir must be an absolute path.")
    try:
        found = await asyncio.to_thread(discover, directory)
    except HooksFileError as error:
        raise ServerProblem(422, "hooks_file_invalid", str(error)) from error
    return HooksResponse(hook_config=found and found.model_dump(mode="json", by_alias=True))
