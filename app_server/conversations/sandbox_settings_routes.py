"""What a program inside a sandbox learns of its user's settings: which model it may ask, and where."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request

from app_server.conversations.agent_request import brokered_llm
from app_server.conversations.dependencies import Viewer
from app_server.conversations.residents import residents_of
from app_server.errors import NotFound
from app_server.sandboxes.auth import CurrentSandbox
from app_server.settings.profiles import get_profile

inner_router = APIRouter(prefix="/api/v1/sandboxes", tags=["LLM gateway"])


@inner_router.get("/{sandbox_id}/settings/llm")
async def get_llm(
    sandbox: CurrentSandbox, sandbox_id: UUID, viewer: Viewer, request: Request, profile: str | None = None
) -> dict[str, Any]:
    """The model of one of the user's profiles, or of the active one, as the sandbox reaches it: keyless.

    Its calls count for the oldest conversation of the sandbox.
    """
    if sandbox.id != sandbox_id:
        raise NotFound("No such sandbox.", code="sandbox_not_found")
    async with request.state.database.read() as session:
        found = await get_profile(session, sandbox.user_id, profile)
        residents = await residents_of(session, sandbox_id)
    conversation_id = residents[0].id if residents else sandbox_id
    inner_url = viewer.sandboxes.running(sandbox_id).inner_url
    return brokered_llm(found, inner_url=inner_url, conversation_id=conversation_id)
