"""Routes that set, stop and resume the goal of a conversation. The agent works on a goal until a judge (a
model) finds that the goal is reached.
"""

from typing import Annotated

from fastapi import APIRouter, Depends

from agent_runtime.wire import StartGoalRequest
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.routes.dependencies import SteeredConversation, Viewer
from app_server.conversations.schemas import Success
from app_server.core.database import ReadSession
from app_server.core.errors import Conflict

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}/goal", tags=["Conversations"])


async def _ready(session: ReadSession, conversation: SteeredConversation) -> Conversation:
    task = await session.get_one(StartTask, conversation.id)
    if task.status != StartStatus.READY:
        raise Conflict(
            "The conversation has not started yet.",
            code="conversation_not_ready",
            fix="Give the goal with the start itself, or wait until the start is READY.",
        )
    return conversation


ReadyConversation = Annotated[Conversation, Depends(_ready)]


@router.post("")
async def set_goal(viewer: Viewer, conversation: ReadyConversation, body: StartGoalRequest) -> Success:
    """Sends the goal to the agent as a message. The agent then works until a judge (a model) finds that the
    goal is reached.

    409 `already_running`, `conversation_not_ready`.
    """
    await viewer.sandboxes.client(conversation.sandbox_id).start_goal(conversation.id, body)
    return Success()


@router.post("/stop")
async def stop_goal(viewer: Viewer, conversation: ReadyConversation) -> Success:
    """Stops the goal, so that the agent gets no further rounds of work for it. The run of the agent that is
    in progress continues. The goal can be resumed.
    """
    await viewer.sandboxes.client(conversation.sandbox_id).stop_goal(conversation.id)
    return Success()


@router.post("/resume")
async def resume_goal(viewer: Viewer, conversation: ReadyConversation) -> Success:
    """Resumes a stopped goal with the rounds of work that it has left.

    409 `no_resumable_goal`, `already_running`, `conversation_not_ready`.
    """
    await viewer.sandboxes.client(conversation.sandbox_id).resume_goal(conversation.id)
    return Success()
