"""Changes the model that the agent of a conversation uses. The agent may be working at the time."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from app_server.conversations import service
from app_server.conversations.schemas import AppConversation
from app_server.conversations.start import agent_request
from app_server.conversations.view import Viewer
from app_server.core.database import Database, now
from app_server.core.encryption import Cipher
from app_server.http.strict_body import StrictBody
from app_server.llm_gateway.conversation_proof import proof_of
from app_server.settings.fallbacks import fallbacks_of
from app_server.settings.profile_lookup import callable_profile
from app_server.teams.repositories.first_team import put_team_of_sandbox_first


class SwitchProfile(StrictBody):
    """The request body for changing the model of a conversation. It names the model profile (a saved model
    with its options) to use.
    """

    profile_name: Annotated[str, Field(min_length=1, max_length=64)]


async def switch_profile(
    database: Database,
    cipher: Cipher,
    viewer: Viewer,
    user_id: UUID,
    conversation_id: UUID,
    profile_name: str,
    *,
    silence_seconds: float,
) -> AppConversation:
    """Makes the agent use the model of this model profile (a saved model with its options), beginning with
    the agent's next model call. Returns the changed conversation. `silence_seconds`: how long the app server
    waits for data from the model vendor during a call.

    Raises NotFound if the user may not see the conversation. Raises Forbidden `conversation_access_missing`
    if the user is not the owner. Raises NotFound `llm_profile_not_found` if there is no such profile. Raises
    Forbidden `setting_enforced` if an enforced setting forbids the profile. Raises Conflict
    `sandbox_not_running` if the sandbox does not run. Raises BadGateway if the agent server does not reply
    correctly.
    """
    async with database.read() as session:
        conversation = await service.require(session, user_id, conversation_id)
        await put_team_of_sandbox_first(session, conversation.sandbox_id)
        profile = await callable_profile(session, user_id, profile_name)
        fallbacks = await fallbacks_of(session, user_id, profile)
    sandbox = viewer.sandboxes.running(conversation.sandbox_id)
    llm = agent_request.brokered_llm(
        profile,
        fallbacks,
        inner_url=sandbox.inner_url,
        conversation_id=conversation_id,
        model_proof=proof_of(cipher, conversation_id),
        silence_seconds=silence_seconds,
    )
    await sandbox.client.switch_llm(conversation_id, llm)
    async with database.session() as session:
        conversation = await service.require(session, user_id, conversation_id)
        conversation.llm_profile, conversation.llm_model = profile.name, profile.model
        conversation.updated_at = now()
        await session.flush()
        shown = await viewer.find(session, conversation_id, user_id=user_id)
    assert shown is not None
    return shown
