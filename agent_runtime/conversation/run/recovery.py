"""Answers calls that will never have a result. Their run was ended by a crash, an interruption, a step back
or a copy.
"""

from agent_runtime.conversation.event_log import dangling_calls
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.events.observation import AgentErrorEvent
from agent_runtime.events.state import ExecutionStatus, status_update


def results_of_dangling_calls(context: RunContext, *, by: str) -> list[AgentErrorEvent]:
    """Returns an error event for each pending call, not yet logged. `by`: what ended the calls, as in "by the
    user".
    """
    return dangling_calls.give_up(context.state.pending, context.agent, context.tools, by=by)


def give_up(context: RunContext, *, by: str) -> None:
    """Answers the pending calls with errors in the log."""
    context.emit(*results_of_dangling_calls(context, by=by))


def recover(context: RunContext) -> None:
    """Answers the calls whose results a crash has lost, so that a run can continue."""
    if not context.is_running and dangling_calls.lost(context.state.pending, context.agent, context.tools):
        give_up(context, by="by a restart")


def settle(context: RunContext, *, by: str) -> None:
    """Ends all open work in a log that was copied from elsewhere: answers pending calls and sets `running` to
    `idle`.
    """
    give_up(context, by=by)
    if context.state.status is ExecutionStatus.RUNNING and not context.is_running:
        context.emit(status_update(ExecutionStatus.IDLE))
