"""The commands of users for the goal of a conversation: set the goal, interrupt the work on it, and resume
the work.
"""

from agent_runtime.context.system_prompt import render
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import AlreadyRunningError, NoGoalToResumeError
from agent_runtime.conversation.run.goal import Goal, interruption
from agent_runtime.events.message import Message, runtime_message
from agent_runtime.events.state import ExecutionStatus


def pursue(conversation: ConversationEngine, objective: str, *, max_iterations: int) -> None:
    """Sets the goal of a conversation and starts a run (work of the agent). The run continues until a judge
    (a model) finds that the goal is reached, or until the judge has found `max_iterations` times that the
    goal is not reached.

    Raises AlreadyRunningError while a run is going on or actions wait for confirmation.
    """
    _require_rest(conversation)
    conversation.emit(Goal(objective=objective, max_iterations=max_iterations).to_event())
    conversation.send(Message.of("user", objective))
    conversation.start()


def rest(conversation: ConversationEngine) -> None:
    """Interrupts the work on the conversation's goal (a task that the agent continues until a judge finds it
    reached). The user can resume the goal later. Does not change the goal if it is not active.

    The agent itself is not stopped: if it is working, it continues. When it says that it is done, no judge
    checks the goal.
    """
    conversation.emit(*interruption(conversation.state.goal))
    conversation.publish_full_state()


def resume(conversation: ConversationEngine) -> None:
    """Resumes the work on the conversation's goal (a task that the agent continues until a judge finds it
    reached) after an interruption, and starts the agent. Raises NoGoalToResumeError if there is no goal, if
    the goal is reached, or if it was checked the maximum number of times. Raises AlreadyRunningError while
    the agent is working or actions wait for confirmation.
    """
    _require_rest(conversation)
    goal = conversation.state.goal
    if goal is None or goal.is_over:
        raise NoGoalToResumeError
    reminder = render("goal_resumed.j2", objective=goal.objective)
    conversation.emit(goal.resumed().to_event(), runtime_message(reminder))
    conversation.start()


def _require_rest(conversation: ConversationEngine) -> None:
    if conversation.is_running or conversation.status is ExecutionStatus.WAITING_FOR_CONFIRMATION:
        raise AlreadyRunningError
