"""What a program inside a sandbox learns of its user's settings: which model it may ask, and where."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request

from app_server.conversations.in_sandbox import residents_of
from app_server.conversations.routes.dependencies import Viewer
from app_server.conversations.start.agent_request import brokered_llm
from app_server.core.errors import Conflict, NotFound
from app_server.llm_gateway.proof import proof_of
from app_server.sandboxes.auth import CurrentSandbox
from app_server.settings.profile_lookup import get_profile

inner_router = APIRouter(prefix="/api/v1/sandboxes", tags=["LLM gateway"])


@inner_router.get("/{sandbox_id}/settings/llm")
async def get_llm(
    sandbox: CurrentSandbox, sandbox_id: UUID, viewer: Viewer, request: Request, profile: str | None = None
) -> dict[str, Any]:
    """The model of one of the user's profiles, or of the active one, as the sandbox reaches it: keyless.

    Its calls count for the conversation of the sandbox. 409 `sandbox_shared` where several work: a program
    cannot choose which of them pays.
    """
    if sandbox.id != sandbox_id:
        raise NotFound("No such sandbox.", code="sandbox_not_found")
    async with request.state.database.read() as session:
        found = await get_profile(session, sandbox.user_id, profile)
        residents = await residents_of(session, sandbox_id)
    if len(residents) > 1:
        raise Conflict(
            "Several conversations work in this sandbox, and it is not known which of them is to pay.",
            code="sandbox_shared",
            fix="Run the program in a sandbox of one conversation.",
        )
    conversation_id = residents[0].id if residents else sandbox_id
    return brokered_llm(
        found,
        inner_url=viewer.sandboxes.running(sandbox_id).inner_url,
        conversation_id=conversation_id,
        model_proof=proof_of(request.state.cipher, conversation_id),
    )
