"""Goals: what the agent is sent back to until a judge finds it reached."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends

from agent_runtime.wire import StartGoalRequest
from app_server.conversations.dependencies import OwnedConversationId, Viewer
from app_server.conversations.models import StartStatus, StartTask
from app_server.conversations.schemas import Success
from app_server.database import ReadSession
from app_server.errors import Conflict

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}/goal", tags=["Conversations"])


async def _ready_id(session: ReadSession, conversation_id: OwnedConversationId) -> UUID:
    task = await session.get_one(StartTask, conversation_id)
    if task.status != StartStatus.READY:
        raise Conflict(
            "The conversation has not started yet.",
            code="conversation_not_ready",
            fix="Give the goal with the start itself, or wait until the start is READY.",
        )
    return conversation_id


ReadyConversationId = Annotated[UUID, Depends(_ready_id)]


@router.post("")
async def set_goal(viewer: Viewer, conversation_id: ReadyConversationId, body: StartGoalRequest) -> Success:
    """The objective becomes a message, and the agent works on it until it is reached.

    409 `already_running`, `conversation_not_ready`.
    """
    await viewer.sandboxes.client(conversation_id).start_goal(conversation_id, body)
    return Success()


@router.post("/stop")
async def stop_goal(viewer: Viewer, conversation_id: ReadyConversationId) -> Success:
    """Ends the pursuit, not the run that is going on. It can be resumed."""
    await viewer.sandboxes.client(conversation_id).stop_goal(conversation_id)
    return Success()


@router.post("/resume")
async def resume_goal(viewer: Viewer, conversation_id: ReadyConversationId) -> Success:
    """Takes up a goal that was stopped, with the rounds it has left.

    409 `no_resumable_goal`, `already_running`, `conversation_not_ready`.
    """
    await viewer.sandboxes.client(conversation_id).resume_goal(conversation_id)
    return Success()
