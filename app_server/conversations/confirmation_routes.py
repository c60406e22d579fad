"""What the agent asks its user before it acts."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field, StringConstraints

from agent_runtime.wire import ConfirmationResponseRequest
from app_server.conversations.dependencies import OwnedConversation, Viewer
from app_server.conversations.safeguards import analyzer_of, mode_of, policy_of
from app_server.conversations.schemas import Success
from app_server.settings.confirmation import ConfirmationMode

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}", tags=["Conversations"])

NO_REASON = "The user did not approve this and gave no reason."

Reason = Annotated[str, StringConstraints(strip_whitespace=True, max_length=10_000)]


class RespondToConfirmation(BaseModel):
    """`action_ids`: the actions that the user has seen. `remember`: do not ask about such actions again.

    `reason`: what the agent is told of a refusal; it goes on with it at once.
    """

    accept: bool
    reason: Reason = ""
    remember: bool = False
    action_ids: Annotated[list[str], Field(min_length=1, max_length=1000)]


class SetConfirmationMode(BaseModel):
    mode: ConfirmationMode


@router.post("/respond-to-confirmation")
async def respond(viewer: Viewer, conversation: OwnedConversation, body: RespondToConfirmation) -> Success:
    """Approves what waits, or refuses it. 409 `nothing_to_confirm`, `confirmation_outdated`."""
    answer = ConfirmationResponseRequest(
        accept=body.accept,
        reason=body.reason or NO_REASON,
        remember=body.remember,
        action_ids=body.action_ids,
        run=not body.accept,
    )
    await viewer.sandboxes.client(conversation.sandbox_id).respond_to_confirmation(conversation.id, answer)
    return Success()


class PresentMode(BaseModel):
    """`mode`: null for a policy of a program's own, which is none of these."""

    mode: ConfirmationMode | None


@router.get("/confirmation-mode")
async def get_mode(viewer: Viewer, conversation: OwnedConversation) -> PresentMode:
    """What the agent goes by now."""
    info = await viewer.sandboxes.client(conversation.sandbox_id).get_conversation(conversation.id)
    return PresentMode(mode=mode_of(info.confirmation_policy))


@router.post("/confirmation-mode")
async def set_mode(viewer: Viewer, conversation: OwnedConversation, body: SetConfirmationMode) -> Success:
    """From the agent's next step on. What waits already goes on waiting."""
    agent = viewer.sandboxes.client(conversation.sandbox_id)
    await agent.set_safeguards(conversation.id, policy=policy_of(body.mode), analyzer=analyzer_of(body.mode))
    return Success()
