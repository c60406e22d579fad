"""Routes that set the budget of a conversation and that condense its history. The route `switch_acp_model`
always replies with an error, because Slipway has no agents that use the Agent Client Protocol (ACP).
"""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from agent_runtime.wire import Dollars
from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.conversations.routes.dependencies import OwnedConversation, SteeredConversation, Viewer
from app_server.conversations.schemas import Success
from app_server.conversations.service import require
from app_server.core.database import ServerDatabase
from app_server.core.errors import BadRequest, Conflict
from app_server.http.strict_body import StrictBody
from app_server.llm_gateway.limits.spending import Payer, allow_conversation, cost_of_programs
from app_server.settings.task_budget import require_allowed_budget

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}", tags=["Conversations"])


class SetBudget(StrictBody):
    """The request body for setting the budget of a conversation. `max_budget_per_task`: the maximum total
    cost of the conversation in dollars, including what is already spent; null means no maximum.

    `run`: whether the agent continues at once, for example after it has stopped because the earlier budget
    was spent.
    """

    max_budget_per_task: Dollars | None
    run: bool = False


class SwitchAcpModel(StrictBody):
    model: Annotated[str, Field(min_length=1, max_length=200)]


@router.post("/budget")
async def set_budget(
    user: CurrentUser,
    trail: CurrentTrail,
    viewer: Viewer,
    conversation: OwnedConversation,
    body: SetBudget,
    database: ServerDatabase,
) -> Success:
    """Sets how much the conversation may cost in total. The new budget replaces the earlier one, so a
    repeated request with the same amount does not raise the budget. 403 `setting_enforced` if the
    organisation or a team enforces a lower budget.
    """
    async with database.session() as session:
        conversation = await require(session, user.id, conversation.id)
        await require_allowed_budget(session, user.id, body.max_budget_per_task)
        payer = Payer(user.id, conversation.id)
        counted = float((conversation.metrics or {}).get("accumulated_cost", 0))
        counted += await cost_of_programs(session, conversation.id)
        await allow_conversation(session, payer, body.max_budget_per_task, spent_before=counted)
        target = (AuditTarget.CONVERSATION, conversation.id)
        trail.record(session, AuditAction.SPENDING_LIMIT_CHANGED, target, limit=body.max_budget_per_task)
    agent = viewer.sandboxes.client(conversation.sandbox_id)
    await agent.set_budget(conversation.id, body.max_budget_per_task)
    if body.run:
        try:
            await agent.run(conversation.id)
        except Conflict as conflict:
            if conflict.code != "already_running":  # then it goes on under the new budget
                raise
    return Success()


@router.post("/condense")
async def condense(viewer: Viewer, conversation: SteeredConversation) -> Success:
    """Replaces older events in the agent's context with a summary. This happens at once, or before the
    agent's next model call if the agent is working.

    409 `nothing_to_condense` if there are no older events that a summary can replace.
    """
    await viewer.sandboxes.client(conversation.sandbox_id).condense(conversation.id)
    return Success()


@router.post(
    "/switch_acp_model",
    responses={400: {"description": "The agent does not speak ACP"}},
)
async def switch_acp_model(_conversation: OwnedConversation, _body: SwitchAcpModel) -> Success:
    """Always replies 400 `not_an_acp_agent`. In the OpenHands protocol, which Slipway's clients use, this
    route changes the model of an agent that uses the Agent Client Protocol (ACP). Slipway has no such agents.
    """
    raise BadRequest(
        "The agent of this conversation does not speak ACP.",
        code="not_an_acp_agent",
        fix="Change its model with POST …/switch_profile.",
    )
