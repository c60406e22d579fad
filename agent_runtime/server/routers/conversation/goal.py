"""Goals: set one, let it rest, take it up again."""

from agent_runtime.conversation.run.goal_commands import pursue, rest, resume
from agent_runtime.server.routers.router import Router
from agent_runtime.server.routers.state import Found
from agent_runtime.wire import StartGoalRequest, Success

router = Router(prefix="/api/conversations/{conversation_id}/goal", tags=["conversations"])


@router.post("", responses={409: {"description": "A run is going on, or waits for an answer"}})
async def start_goal(conversation: Found, request: StartGoalRequest) -> Success:
    """Has the agent work until a judge finds the objective reached."""
    pursue(conversation, request.objective, max_iterations=request.max_iterations)
    return Success()


@router.post("/stop")
async def stop_goal(conversation: Found) -> Success:
    """Stops pursuing the goal, not the run that is going on. It can be taken up again."""
    rest(conversation)
    return Success()


@router.post(
    "/resume",
    responses={
        400: {"description": "There is no goal that could go on"},
        409: {"description": "A run is going on, or waits for an answer"},
    },
)
async def resume_goal(conversation: Found) -> Success:
    """Takes up a goal that was interrupted, with the audits it has left."""
    resume(conversation)
    return Success()
