"""Builds the result of a sub-agent's task for the agent that started the task."""

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.events.errors import ConversationErrorEvent
from agent_runtime.events.state import ExecutionStatus
from agent_runtime.llm.conversation_costs import total_cost
from agent_runtime.llm.errors import DOWN
from agent_runtime.metering.limits import BUDGET_REACHED
from agent_runtime.tools.delegation import Result

_LOOK_BACK_EVENTS = 20
_DONE = {ExecutionStatus.FINISHED, ExecutionStatus.IDLE}


def result_of(child: ConversationEngine, task_id: str, subagent: str) -> Result:
    """Returns the result of a sub-agent's task, with the sub-agent's report. The sub-agent must have stopped
    working, and must not be waiting for the user. `child`: the conversation of the sub-agent. `subagent`: the
    name of the sub-agent's definition.
    """
    is_completed = child.status in _DONE
    cost = total_cost(child.state.stats)
    paid = f" for ${cost:.4f}" if cost else ""
    if is_completed:
        note = f"[{task_id}: done by {subagent}{paid}.]"
        return Result(task_id, subagent, True, child.state.final_response, note)
    note = f"[{task_id}: not done by {subagent}{paid}. Its work is as it was left: `resume` goes on with it.]"
    return Result(task_id, subagent, False, _why_not(child), note)


def _why_not(child: ConversationEngine) -> str:
    recent = child.run_context.history.recent_events(_LOOK_BACK_EVENTS)
    error = next((one for one in recent if isinstance(one, ConversationErrorEvent)), None)
    match child.status:
        case ExecutionStatus.STUCK:
            return "The sub-agent went in circles and was stopped."
        case ExecutionStatus.PAUSED if error is not None and error.code == BUDGET_REACHED:
            return "The sub-agent has used up its budget before it was done."
        case ExecutionStatus.PAUSED if error is None or error.code not in DOWN:
            return "The sub-agent was paused before it was done."
        case _:
            return f"The sub-agent could not go on: {error.detail if error else child.status}"
