"""Routes to approve or refuse actions of the agent, and to set when the agent asks for approval."""

from typing import Annotated, Self

from fastapi import APIRouter
from pydantic import BaseModel, Field, StringConstraints, model_validator

from agent_runtime.wire import ConfirmationResponseRequest
from app_server.access.audit_trail import CurrentTrail
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.conversations.confirmation_policy import analyzer_of, mode_of, policy_of
from app_server.conversations.routes.dependencies import (
    OwnedConversation,
    SeenConversation,
    SteeredConversation,
    Viewer,
)
from app_server.conversations.schemas import Success
from app_server.core.database import ServerDatabase
from app_server.http.strict_body import StrictBody
from app_server.levels.models import SettingName
from app_server.levels.service import require_allowed
from app_server.settings.confirmation import ConfirmationMode
from app_server.teams.repositories.first_team import put_team_of_sandbox_first

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}", tags=["Conversations"])

NO_REASON = "The user did not approve this and gave no reason."

Reason = Annotated[str, StringConstraints(strip_whitespace=True, max_length=10_000)]


class RespondToConfirmation(StrictBody):
    """The request body with the user's decision about actions of the agent that wait for approval. After the
    decision, the agent continues at once.

    `accept`: true approves all waiting actions. False refuses them, except those in `approved_action_ids`;
    null means no exceptions. `action_ids`: the ids of all waiting actions that the user has seen.

    `remember`: only with `accept` true, whether similar actions need no approval in the rest of this
    conversation. `reason`: a text for the agent that says why the actions are refused.
    """

    accept: bool
    reason: Reason = ""
    remember: bool = False
    action_ids: Annotated[list[str], Field(min_length=1, max_length=1000)]
    approved_action_ids: Annotated[list[str], Field(min_length=1, max_length=1000)] | None = None

    @model_validator(mode="after")
    def _is_one_answer(self) -> Self:
        approved = self.approved_action_ids
        if approved is not None and (self.accept or not set(self.action_ids).issuperset(approved)):
            raise ValueError("`approved_action_ids` are some of the `action_ids`, with `accept: false`")
        return self


class SetConfirmationMode(StrictBody):
    mode: ConfirmationMode


@router.post("/respond-to-confirmation")
async def respond(
    viewer: Viewer,
    trail: CurrentTrail,
    conversation: SteeredConversation,
    body: RespondToConfirmation,
    database: ServerDatabase,
) -> Success:
    """Approves or refuses all or some of the agent's actions that wait for approval. 409 `nothing_to_confirm`
    if no action waits. 409 `confirmation_outdated` if the actions that wait now are not those in
    `action_ids`.
    """
    answer = ConfirmationResponseRequest(
        accept=body.accept,
        reason=body.reason or NO_REASON,
        remember=body.remember,
        action_ids=body.action_ids,
        approved_action_ids=body.approved_action_ids,
        run=not body.accept,
    )
    await viewer.sandboxes.client(conversation.sandbox_id).respond_to_confirmation(conversation.id, answer)
    approved = body.action_ids if body.accept else body.approved_action_ids or []
    refused = [one for one in body.action_ids if one not in approved]
    async with database.session() as session:
        for action, ids in (
            (AuditAction.AGENT_ACTION_APPROVED, approved),
            (AuditAction.AGENT_ACTION_REFUSED, refused),
        ):
            if ids:
                target = (AuditTarget.CONVERSATION, conversation.id)
                remembers = body.remember or None
                trail.record(session, action, target, action_ids=ids, count=len(ids), remember=remembers)
    return Success()


class PresentMode(BaseModel):
    """The reply with the confirmation mode, which says when the agent asks the user for approval. `mode`:
    null if the present setting is not one of the modes. A program can make such a setting through the agent
    server's API.
    """

    mode: ConfirmationMode | None


@router.get("/confirmation-mode")
async def get_mode(viewer: Viewer, conversation: SeenConversation) -> PresentMode:
    """Returns the conversation's confirmation mode, which says when the agent asks the user for approval."""
    info = await viewer.sandboxes.client(conversation.sandbox_id).get_conversation(conversation.id)
    return PresentMode(mode=mode_of(info.confirmation_policy))


@router.post("/confirmation-mode")
async def set_mode(
    viewer: Viewer,
    trail: CurrentTrail,
    conversation: OwnedConversation,
    body: SetConfirmationMode,
    database: ServerDatabase,
) -> Success:
    """Sets the confirmation mode, which says when the agent asks the user for approval. The new mode applies
    to the agent's later actions; actions that already wait for approval continue to wait. 403
    `setting_enforced` if the organisation or a team enforces another mode.
    """
    async with database.read() as session:
        await put_team_of_sandbox_first(session, conversation.sandbox_id)
        await require_allowed(session, conversation.user_id, SettingName.CONFIRMATION_MODE, body.mode.value)
    agent = viewer.sandboxes.client(conversation.sandbox_id)
    await agent.set_safeguards(conversation.id, policy=policy_of(body.mode), analyzer=analyzer_of(body.mode))
    async with database.session() as session:
        target = (AuditTarget.CONVERSATION, conversation.id)
        trail.record(session, AuditAction.CONFIRMATION_CHANGED, target, mode=body.mode)
    return Success()
