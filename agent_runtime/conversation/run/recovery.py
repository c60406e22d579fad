"""Answers calls that will never have a result: after a crash, an interruption, a step back or a copy."""

from agent_runtime.conversation.event_log import dangling_calls
from agent_runtime.conversation.run.context import Running
from agent_runtime.events.observation import AgentErrorEvent
from agent_runtime.events.state import ExecutionStatus, status_update


def unanswered(conversation: Running, *, by: str) -> list[AgentErrorEvent]:
    """Returns an error event for each pending call, not yet logged. `by`: what ended the calls, as in "by the
    user".
    """
    return dangling_calls.give_up(conversation.state.pending, conversation.agent, conversation.tools, by=by)


def give_up(conversation: Running, *, by: str) -> None:
    """Answers the pending calls with errors in the log."""
    conversation.emit(*unanswered(conversation, by=by))


def recover(conversation: Running) -> None:
    """Answers the calls whose results a crash has lost, so that a run can continue."""
    if not conversation.is_running and dangling_calls.lost(
        conversation.state.pending, conversation.agent, conversation.tools
    ):
        give_up(conversation, by="by a restart")


def settle(conversation: Running, *, by: str) -> None:
    """Ends all open work in a log that was copied from elsewhere: answers pending calls and sets `running` to
    `idle`.
    """
    give_up(conversation, by=by)
    if conversation.state.status is ExecutionStatus.RUNNING and not conversation.is_running:
        conversation.emit(status_update(ExecutionStatus.IDLE))
