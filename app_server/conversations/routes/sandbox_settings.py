"""The route from which a program inside a sandbox gets the settings for calling one of the user's models."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter

from app_server.conversations.by_sandbox import residents_of
from app_server.conversations.routes.dependencies import Viewer
from app_server.conversations.start.agent_request import brokered_llm
from app_server.core.database import ServerDatabase
from app_server.core.encryption import ServerCipher
from app_server.core.errors import Conflict, NotFound
from app_server.core.server_objects import ServerConfig
from app_server.llm_gateway.conversation_proof import proof_of
from app_server.sandboxes.auth import CurrentSandbox
from app_server.settings.profile_lookup import callable_profile
from app_server.teams.repositories.first_team import put_team_of_sandbox_first

inner_router = APIRouter(prefix="/api/v1/sandboxes", tags=["LLM gateway"])


@inner_router.get("/{sandbox_id}/settings/llm")
async def get_llm(
    sandbox: CurrentSandbox,
    sandbox_id: UUID,
    viewer: Viewer,
    database: ServerDatabase,
    cipher: ServerCipher,
    config: ServerConfig,
    profile: str | None = None,
) -> dict[str, Any]:
    """Returns the settings with which a program in the sandbox calls a model of the sandbox's owner through
    the app server. The settings contain no API key of the model vendor, because the app server adds the key
    to the calls. `profile`: the name of the model profile (a saved model with its options); if left out, the
    active profile.

    The costs of the calls are counted for the conversation in the sandbox. 409 `sandbox_shared` if several
    conversations work in the sandbox, because the app server cannot know which of them makes a call.
    """
    if sandbox.id != sandbox_id:
        raise NotFound("No such sandbox.", code="sandbox_not_found")
    async with database.read() as session:
        await put_team_of_sandbox_first(session, sandbox.id)
        found = await callable_profile(session, sandbox.user_id, profile)
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
        model_proof=proof_of(cipher, conversation_id),
        silence_seconds=config.llm_timeout_seconds,
    )
