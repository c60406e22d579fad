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
    """Sends the goal's objective to the agent as a message. The agent then works until a judge (a model)
    finds that the goal is reached.

    409 `already_running` if the agent works, `conversation_not_ready` while the conversation starts.
    """
    await viewer.sandboxes.client(conversation.sandbox_id).start_goal(conversation.id, body)
    return Success()


@router.post("/stop")
async def stop_goal(viewer: Viewer, conversation: ReadyConversation) -> Success:
    """Stops the pursuit of the goal, but does not interrupt the agent's current run. The goal can be resumed
    later.
    """
    await viewer.sandboxes.client(conversation.sandbox_id).stop_goal(conversation.id)
    return Success()


@router.post("/resume")
async def resume_goal(viewer: Viewer, conversation: ReadyConversation) -> Success:
    """Resumes a stopped goal. The number of rounds that remained when the goal was stopped still applies.

    409 `no_resumable_goal` if there is no goal or it is over, `already_running` if the agent works,
    `conversation_not_ready` while the conversation starts.
    """
    await viewer.sandboxes.client(conversation.sandbox_id).resume_goal(conversation.id)
    return Success()
