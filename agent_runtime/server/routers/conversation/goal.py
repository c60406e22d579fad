"""Routes that start, stop and resume the goal of a conversation: a task that the agent continues until a
judge (a model) finds it reached.
"""

from agent_runtime.conversation.run.goal_commands import pursue, rest, resume
from agent_runtime.server.routers.dependencies import LoadedConversation
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import StartGoalRequest, Success

router = Router(prefix="/api/conversations/{conversation_id}/goal", tags=["conversations"])


@router.post("", responses={409: {"description": "A run is going on, or waits for an answer"}})
async def start_goal(conversation: LoadedConversation, request: StartGoalRequest) -> Success:
    """Sets the goal of the conversation and starts the agent, which works until a judge (a model) finds that
    the goal is reached.
    """
    pursue(conversation, request.objective, max_iterations=request.max_iterations)
    return Success()


@router.post("/stop")
async def stop_goal(conversation: LoadedConversation) -> Success:
    """Interrupts the goal of the conversation, a task that the agent continues until a judge (a model) finds
    it reached. If the agent is working, it continues. But when the agent has finished, no judge checks
    whether the goal is reached. The user can resume the goal later.
    """
    rest(conversation)
    return Success()


@router.post(
    "/resume",
    responses={
        400: {"description": "There is no goal that can be resumed"},
        409: {"description": "A run is going on, or waits for an answer"},
    },
)
async def resume_goal(conversation: LoadedConversation) -> Success:
    """Resumes an interrupted goal and starts the agent. The number of checks by the judge (a model) before
    the interruption counts toward the maximum number of checks.
    """
    resume(conversation)
    return Success()
