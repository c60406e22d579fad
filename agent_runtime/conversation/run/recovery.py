"""Logs error results for tool calls that will never have a result. Such calls exist after a crash, after an
interruption, after a return to an earlier event, and in a copy of a conversation.
"""

from agent_runtime.conversation.event_log import dangling_calls
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.events.observation import AgentErrorEvent
from agent_runtime.events.state import ExecutionStatus, status_update


def results_of_dangling_calls(context: RunContext, *, by: str) -> list[AgentErrorEvent]:
    """Returns an error event as the result of each pending tool call (a call without a result). The caller
    logs these events. `by`: a text that says who or what ended the calls, such as "by the user".
    """
    return dangling_calls.give_up(context.state.pending, context.agent, context.tools, by=by)


def give_up(context: RunContext, *, by: str) -> None:
    """Logs an error as the result of each pending tool call (a call without a result). `by`: a text that says
    who or what ended the calls, such as "by the user".
    """
    context.emit(*results_of_dangling_calls(context, by=by))


def recover(context: RunContext) -> None:
    """Ends the pending tool calls (calls without a result) after a crash if it is not safe to repeat them. It
    is safe if each call that may have begun is safe to repeat.

    If it is safe, logs nothing, and the agent executes the pending calls again. Otherwise logs an error as
    the result of each pending call. Does nothing while a run (work of the agent) is going on.
    """
    if not context.is_running and dangling_calls.lost(context.state.pending, context.agent, context.tools):
        give_up(context, by="by a restart")


def settle(context: RunContext, *, by: str) -> None:
    """Ends the unfinished work in a log that was copied from another conversation. Pending tool calls (calls
    without a result) get error results. The status `running` becomes `idle`, unless the agent is working.
    `by`: a text that says who or what ended the calls, such as "by the user".
    """
    give_up(context, by=by)
    if context.state.status is ExecutionStatus.RUNNING and not context.is_running:
        context.emit(status_update(ExecutionStatus.IDLE))
