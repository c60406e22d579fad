"""What the user decides while the agent works: what it may cost, what it still has in mind."""

from fastapi import APIRouter
from pydantic import BaseModel

from agent_runtime.wire import Dollars
from app_server.conversations.dependencies import OwnedConversationId, Viewer
from app_server.conversations.schemas import Success
from app_server.errors import Conflict

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}", tags=["Conversations"])


class SetBudget(BaseModel):
    """`max_budget_per_task`: what the conversation may cost in all, in dollars; null: any amount.

    `run`: and go on at once.
    """

    max_budget_per_task: Dollars | None
    run: bool = False


@router.post("/budget")
async def set_budget(viewer: Viewer, conversation_id: OwnedConversationId, body: SetBudget) -> Success:
    """Sets the budget; the same amount again changes nothing."""
    agent = viewer.sandboxes.client(conversation_id)
    await agent.set_budget(conversation_id, body.max_budget_per_task)
    if body.run:
        try:
            await agent.run(conversation_id)
        except Conflict as conflict:
            if conflict.code != "already_running":  # then it goes on under the new budget
                raise
    return Success()


@router.post("/condense")
async def condense(viewer: Viewer, conversation_id: OwnedConversationId) -> Success:
    """Has older events summed up: now, or before the next reply of an agent that works.

    409 `nothing_to_condense`.
    """
    await viewer.sandboxes.client(conversation_id).condense(conversation_id)
    return Success()
