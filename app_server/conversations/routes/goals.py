"""Routes that set, stop and resume the goal of a conversation. The agent works on a goal until a judge (a
model) finds that the goal is reached.
"""

from typing import Annotated

from fastapi import APIRouter, Depends

from agent_runtime import wire
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.routes.dependencies import SteeredConversation, Viewer
from app_server.conversations.schemas import Success
from app_server.core.database import ReadSession
from app_server.core.errors import Conflict
from app_server.http.strict_body import StrictBody

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}/goal", tags=["Conversations"])


class StartGoalRequest(wire.StartGoalRequest, StrictBody):
    """The request body that gives the agent a goal. `objective`: the goal as text. `max_iterations`: how many
    times a judge (a model) checks whether the goal is reached. After the last check, the work on the goal
    ends, even if the goal is not reached.
    """


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
    """Sets the goal of the conversation and starts the agent: the text of the goal is sent to the agent as a
    message. The agent then works until a judge (a model) finds that the goal is reached.

    409 `already_running` if the agent works. 409 `conversation_not_ready` while the conversation starts.
    """
    await viewer.sandboxes.client(conversation.sandbox_id).start_goal(conversation.id, body)
    return Success()


@router.post("/stop")
async def stop_goal(viewer: Viewer, conversation: ReadyConversation) -> Success:
    """Stops the goal: the judge (a model) no longer checks the agent's work. What the agent is doing now is
    not interrupted. The goal can be resumed later.
    """
    await viewer.sandboxes.client(conversation.sandbox_id).stop_goal(conversation.id)
    return Success()


@router.post("/resume")
async def resume_goal(viewer: Viewer, conversation: ReadyConversation) -> Success:
    """Resumes a stopped goal, with the number of rounds that were left when the goal was stopped. A round is
    work of the agent that ends with a check by the judge (a model).

    409 `no_resumable_goal` if the conversation has no stopped goal. 409 `already_running` if the agent works.
    409 `conversation_not_ready` while the conversation starts.
    """
    await viewer.sandboxes.client(conversation.sandbox_id).resume_goal(conversation.id)
    return Success()
